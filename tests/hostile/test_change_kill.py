#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that was answered OK is there after kill -9, in each mode, and what
the daemon kept on disk tells nothing older."""

import daemon
import rpc
from case_change import HOUR, ChangeCase
from daemon import poll
from rpc import opaque


class Killed(ChangeCase):
    """All is known and saved; one change is acknowledged; kill -9, at once. The
    bound is longer than the test, so that nothing heals by itself."""
    modes = ({"consistency": "frozen"},
             {"consistency": "bounded", "attr_timeout": "1h",
              "negative_timeout": "1h"})

    def prime(self, mode):
        """Everything below the root is known to the proxy and on its disk."""
        self.up.make("d", rpc.DIR, age=HOUR, mode=0o755)
        self.file = self.up.make("d/file", rpc.REG, b"x" * 100, age=HOUR)
        self.other = self.up.make("d/other", rpc.REG, b"o" * 50, age=HOUR)
        self.up.make("d/sub", rpc.DIR, age=HOUR)
        self.dir = self.up.node("d").fh
        self.ff.stop()
        self.ff.write_config(**mode)
        self.ff.start()
        self.client = self.connect()
        self.enter()
        self.enter(self.lookup("d"))
        self.settle()
        self.enter(self.dir)
        self.all_of_it()
        self.lookup("new", self.dir)
        for node in (self.file, self.other):
            self.ok(rpc.ACCESS, rpc.access_args(node.fh))
            self.read(node.fh)
        # TERM has it write what it knows.
        self.ff.stop()
        self.ff.start()
        self.client = self.connect()

    def all_of_it(self):
        """Returns the proxy's answers about all there could be."""
        out = {"names": self.names(self.dir), "d": self.attr(self.dir)[1]}
        out["list"] = self.names(self.dir, plus=False)
        for name in ("file", "other", "sub", "new"):
            fh = self.lookup(name, self.dir)
            out[name] = fh
            if isinstance(fh, bytes):
                node = self.up.nodes.get(fh)
                out[name, "attr"] = self.attr(fh)
                if node and node.kind == rpc.REG:
                    out[name, "data"] = self.read(fh)
        return out

    def truth(self):
        d = self.up.nodes[self.dir]
        names = {n.decode() for n in d.names}
        out = {"names": names, "list": names, "d": d.nlink}
        for name in ("file", "other", "sub", "new"):
            node = d.names.get(name.encode())
            out[name] = node.fh if node else rpc.NOENT
            if node:
                out[name, "attr"] = node.mode, node.nlink, node.size()
            if node and node.kind == rpc.REG:
                out[name, "data"] = bytes(node.data)
        return out

    def holds_after_kill(self, change):
        for mode in self.modes:
            with self.subTest(**mode):
                self.ff.stop()
                self.up.root.names.clear()
                self.ff.start()
                self.prime(mode)
                change()
                self.restart()
                self.assertEqual(self.all_of_it(), self.truth())
                # And when all has been answered from the new start's caches.
                self.assertEqual(self.all_of_it(), self.truth())
                self.restart()
                self.assertEqual(self.all_of_it(), self.truth())

    def test_create(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.CREATE, rpc.create_args("new", self.dir)))

    def test_write_that_grows(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.WRITE, rpc.write_args(b"y" * 400, self.file.fh, offset=100)))

    def test_write_in_place(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.WRITE, rpc.write_args(b"y" * 50, self.file.fh, offset=10)))

    def test_setattr_of_the_mode(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.SETATTR, rpc.setattr_args(self.file.fh)))

    def test_setattr_of_the_size(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.SETATTR, rpc.setattr_args(self.file.fh, rpc.sattr(size=7))))

    def test_remove(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.REMOVE, rpc.dirop("file", self.dir)))

    def test_rmdir(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.RMDIR, rpc.dirop("sub", self.dir)))

    def test_mkdir(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.MKDIR, rpc.mkdir_args("new", self.dir)))

    def test_symlink(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.SYMLINK, rpc.symlink_args("new", "target", self.dir)))

    def test_link(self):
        self.holds_after_kill(lambda: self.ok(
            rpc.LINK, rpc.link_args(self.file.fh, "new", self.dir)))

    def test_rename(self):
        self.holds_after_kill(lambda: self.ok(rpc.RENAME, opaque(self.dir) +
            opaque("file") + opaque(self.dir) + opaque("new")))

    def test_rename_over(self):
        self.holds_after_kill(lambda: self.ok(rpc.RENAME, opaque(self.dir) +
            opaque("file") + opaque(self.dir) + opaque("other")))

    def test_what_was_sent_and_not_answered(self):
        """The server did it, the daemon is killed before it hears of it."""
        def change():
            self.up.lose_reply(rpc.WRITE)
            self.client.send(rpc.WRITE, rpc.write_args(
                b"y" * 400, self.file.fh, offset=100))
            poll(lambda: self.file.size() == 500, "it is done")
        self.holds_after_kill(change)


if __name__ == "__main__":
    daemon.main()
