#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetch pin: who may pin what, how much, and what is left after restarts
and damage; before a server that refuses or loops."""
import os

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32
from tree import Control, Tree, entry, field, fields, page, place

LIST, ADD, REMOVE = range(3)
UNPINNED = 25  # what REMOVE is answered with
NAMES = {1: "id", 4: "path", 5: "uid", 6: "files", 7: "bytes", 8: "cached",
         9: "complete", 10: "walks", 12: "walk"}
WALK = {2: "status", 4: "full", 5: "directories", 6: "files", 11: "refused",
        12: "failed", 17: "loops"}


def pin_of(data):
    got = fields(data)
    pin = {name: got.get(n, 0) for n, name in NAMES.items()}
    walk = fields(pin["walk"])
    pin["walk"] = {name: walk.get(n, 0) for n, name in WALK.items()}
    return pin


class Pins(Tree):
    def setUp(self):
        super().setUp()
        self.control = Control(self.ff)

    def tearDown(self):
        self.control.close()
        self.bystander_alive()

    def ask(self, action, path=b""):
        return self.control.ask(23, field(1, action) + field(
            2, place(self.ff, path)), UNPINNED if action == REMOVE else None)

    def pin(self, path=b""):
        """Wait for the walk's end; the pin as it is then."""
        got = self.ask(ADD, path)
        self.assertIn(1, got)
        poll(lambda: not self.walks(), "the walk ends")
        return self.pins()

    def walks(self):
        return self.pins()["walks"]

    def pins(self):
        """The only pin; None where there is none."""
        got = self.control.ask(23)
        return pin_of(got[1]) if 1 in got else None

    def restart(self, end):
        self.control.close()
        end()
        self.ff.start()
        self.control = Control(self.ff)

    def saved(self):
        path = os.path.join(self.ff.top["cache_dir"], "nas", "pins")
        return path if os.path.exists(path) else None

    def test_pinned(self):
        pin = self.pin()
        self.assertEqual((pin["files"], pin["bytes"]), (2, 2 * self.size))
        self.assertEqual(pin["walk"]["failed"], 0)
        poll(lambda: self.pins()["complete"], "all of it is cached")
        self.assertEqual(
            self.ff.control("stats")["gauges"]["data_pinned_bytes"],
            2 * self.size)
        self.assertEqual(self.pin()["id"], pin["id"])
        self.assertEqual(self.ask(REMOVE), {1: 1})
        self.assertIsNone(self.pins())
        self.assertEqual(
            self.ff.control("stats")["gauges"]["data_pinned_bytes"], 0)
        self.assertEqual(self.ask(REMOVE), {-1: 9})

    def test_not_granted(self):
        """Others have read it, and the server would let us, by mistake."""
        with self.ff.connect() as c:
            st, _ = c.nfs(rpc.READ, rpc.read_args(
                fh=b"fh-file.........", count=100))
            self.assertEqual(st, 0)

        def access(call):
            if call.reader().opaque().startswith(b"fh-file"):
                return u32(0, 1) + self.attr(b"file") + u32(0)
            return self.access(call)
        self.up.script(rpc.ACCESS, access)
        before = len(self.up.seen(rpc.READ))
        pin = self.pin()
        self.assertEqual((pin["files"], pin["walk"]["refused"]), (1, 1))
        # Nor does the pin ask for what the others may read on.
        names = {self.name_of(c.reader().opaque())
                 for c in self.up.seen(rpc.READ)[before:]
                 if c.cred != rpc.auth_sys()}
        self.assertEqual(names, {b"inner"})

    def test_no_answer_about_rights(self):
        self.up.script(rpc.ACCESS, lambda c: (
            self.access(c) if c.reader().opaque()[:7] != b"fh-file"
            else u32(rpc.IO, 0)))
        pin = self.pin()
        self.assertEqual((pin["files"], pin["walk"]["failed"]), (1, 1))

    def test_grants_nothing_known(self):
        """Attributes of another time each time: nothing may be kept."""
        self.up.script(rpc.ACCESS, lambda c: u32(0, 0, 0))
        self.assertEqual(self.pin()["files"], 0)

    def test_rights_taken_away(self):
        """Of a directory, whose file loses its pin then."""
        self.assertEqual(self.pin()["files"], 2)
        self.ff.control("drop")
        self.up.script(rpc.READDIRPLUS, lambda c: (
            self.list(c) if c.reader().opaque() == rpc.ROOT
            else u32(rpc.ACCES, 0)))
        pin = self.pin()
        self.assertEqual((pin["files"], pin["walk"]["refused"]), (1, 1))

    def test_failure_unpins_nothing(self):
        self.assertEqual(self.pin()["files"], 2)
        self.ff.control("drop")
        self.up.script(rpc.READDIRPLUS, u32(rpc.IO, 0))
        pin = self.pin()
        self.assertEqual((pin["files"], pin["complete"]), (2, 0))

    def test_loop(self):
        """Directories that hold themselves and each other."""
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"dir", 1, self.attr(b"dir")),
             entry(b"dir2", 2, self.attr(b"dir")),
             entry(b"file", 3, self.attr(b"file"))]))
        walk = self.pin()["walk"]
        self.assertEqual((walk["directories"], walk["loops"],
                          walk["failed"]), (3, 4, 0))
        poll(lambda: self.pins()["complete"], "all of it is cached")
        self.assertTrue(self.ff.lines("walked", "loops=4"))

    def test_not_found(self):
        pin = self.pin(b"nothing")
        self.assertEqual((pin["walk"]["status"], pin["path"]),
                         (rpc.NOENT, b"/srv/nothing"))

    def test_restart(self):
        self.pin()
        for end in (self.ff.stop, self.ff.kill, self.ff.kill):
            poll(lambda: self.pins()["complete"], "all of it is cached")
            poll(self.saved, "it is written down")
            self.restart(end)
            pin = self.pins()
            self.assertEqual((pin["files"], pin["uid"]), (2, os.getuid()))
            # Nobody has used it: nothing was asked. Then it is walked.
            n = len(self.up.seen(rpc.READDIRPLUS))
            self.assertFalse(pin["walk"]["directories"])
            self.bystander_alive()
            poll(lambda: self.pins()["walk"]["directories"] == 2, "a walk")
            self.assertLessEqual(len(self.up.seen(rpc.READDIRPLUS)), n + 4)

    def test_restart_in_a_walk(self):
        self.up.script(rpc.READ, HOLD)
        self.ask(ADD)
        self.up.wait(rpc.READ, 1)
        poll(self.saved, "it is written down")
        self.restart(self.ff.kill)
        self.up.script(rpc.READ, self.read)
        self.assertEqual(self.pins()["path"], b"/srv")
        self.bystander_alive()
        poll(lambda: self.pins()["complete"], "it is walked again")

    def test_damaged(self):
        self.pin()
        self.ff.stop()
        path = self.saved()
        with open(path, "rb") as f:
            good = f.read()
        for at in range(0, len(good), 7):
            for bad in (good[:at], good[:at] + bytes([good[at] ^ 1]) +
                        good[at + 1:]):
                with open(path, "wb") as f:
                    f.write(bad)
                if at % 49:
                    continue
                self.restart(lambda: None)
                self.assertIsNone(self.pins())
                self.assertTrue(os.path.exists(path + ".damaged"))
                self.ff.stop()
        self.assertTrue(self.ff.lines("pins", "damaged"))
        with open(path, "wb") as f:
            f.write(good)
        self.restart(lambda: None)
        self.assertEqual(self.pins()["files"], 2)

    def test_bad_requests(self):
        self.assertEqual(self.control.ask(23, field(1, ADD)), {-1: 1})
        self.assertEqual(self.ask(77), {-1: 3})
        self.assertEqual(self.ask(ADD, b"a/../b"), {-1: 1})
        self.assertEqual(
            self.control.ask(23, field(3, b"other")), {-1: 4})
        for id in (1, 33, 0xffffffff):
            self.assertNotIn(
                1, self.control.ask(23, field(3, b"nas") + field(4, id)))
        other = (field(1, b"127.0.0.9:1") + field(2, b"/srv"))
        self.assertEqual(self.control.ask(
            23, field(1, ADD) + field(2, other)), {-1: 9})

    def test_too_many(self):
        for i in range(32):
            poll(lambda: -1 not in self.ask(ADD, b"n%d" % i), "a pin")
        self.assertEqual(self.ask(ADD, b"one too many"), {-1: 5})
        self.assertNotIn(-1, self.ask(ADD, b"n0"))
        self.assertEqual(self.ask(REMOVE, b"n3"), {1: 1})
        self.assertNotIn(-1, self.ask(ADD, b"one too many"))


class Small(Pins):
    """Half of the cache is less than the tree."""
    size = 300000

    def start_daemon(self, **kw):
        return super().start_daemon(daemon={"cache_size": "1M"}, **kw)

    def test_limit(self):
        pin = self.pin()
        self.assertEqual((pin["files"], pin["walk"]["full"]), (1, 1))
        self.assertEqual(pin["complete"], 0)
        # It is known how much there is in all.
        self.assertEqual(pin["walk"]["files"], 2)


for name in [n for n in dir(Pins) if n.startswith("test_")]:
    setattr(Small, name, None)

if __name__ == "__main__":
    daemon.main()
