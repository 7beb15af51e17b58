#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that were acknowledged, and that were not: what was answered OK is
there afterwards, whoever was restarted meanwhile or went away; and nothing is
answered OK that did not happen."""

import daemon
import memfs
import rpc
from case_change import HOUR, ChangeCase
from daemon import poll
from rpc import opaque, u32


class Restarted(ChangeCase):
    """The server is restarted while a change is under way: its reply cache is
    gone."""

    def outcome(self, proc, args, first):
        """`first` says what became of it before the restart."""
        first(proc)
        self.client.send(proc, args)
        self.up.wait(proc)
        self.refused()
        return rpc.status(self.client.recv())


class NeverHappened(Restarted):
    """A change that the server did not do is not acknowledged, whatever lies
    there."""

    def stays(self, proc, args, status):
        self.assertEqual(self.outcome(proc, args, self.up.ignore), status)
        self.assertEqual(self.counters(
            "postcheck_repaired", "postcheck_left"), (0, 1))

    def lock(self, **kw):
        self.up.make("lock", rpc.DIR, mode=0o755, **kw)

    def test_lock_directory_that_the_proxy_knows(self):
        self.lock(age=HOUR)
        self.enter()
        self.lookup("lock")
        self.stays(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST)

    def test_lock_directory_in_a_listing(self):
        self.lock(age=HOUR)
        self.enter()
        self.names()
        self.stays(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST)

    def test_lock_directory_that_the_proxy_does_not_know(self):
        """It was the last thing that changed in there, so that its ctime is
        that of its directory."""
        self.lock(age=HOUR)
        self.enter()
        self.stays(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST)

    def test_lock_directory_older_than_others(self):
        self.lock(age=HOUR)
        self.up.make("later", rpc.REG, age=HOUR // 2)
        self.enter()
        self.stays(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST)

    def test_lock_directory_of_which_nothing_is_known(self):
        """Not even its directory was asked for."""
        self.lock(age=HOUR)
        self.stays(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST)

    def test_symlink_that_was_there(self):
        """Locks are made of these, too."""
        self.up.make("lock", rpc.LNK, b"host.1", age=HOUR)
        self.enter()
        self.stays(rpc.SYMLINK, rpc.symlink_args("lock", "host.1"), rpc.EXIST)

    def test_link_that_was_there(self):
        """The same name of the same file, made by somebody else."""
        fh = self.up.make("mine", rpc.REG, age=HOUR).fh
        self.up.root.names[b"lock"] = self.up.node("mine")
        self.up.node("mine").nlink = 2
        self.enter()
        self.lookup("mine")
        self.stays(rpc.LINK, rpc.link_args(fh, "lock"), rpc.EXIST)

    def test_empty_file_that_was_there(self):
        self.up.make("lock", rpc.REG, age=HOUR)
        self.enter()
        self.stays(rpc.CREATE, rpc.create_args("lock", mode=1), rpc.EXIST)

    def test_rename_of_a_name_that_never_was(self):
        self.up.make("target", rpc.REG, b"old", age=HOUR)
        self.enter()
        self.stays(rpc.RENAME, rpc.rename_args("tmp", "target"), rpc.NOENT)
        self.assertEqual(bytes(self.up.node("target").data), b"old")

    def test_rename_of_a_name_that_somebody_removed(self):
        tmp = self.up.make("tmp", rpc.REG, b"new", age=HOUR)
        self.up.make("target", rpc.REG, b"old", age=HOUR)
        self.enter()
        self.assertEqual(self.lookup("tmp"), tmp.fh)
        self.lookup("target")
        self.up.ignore(rpc.RENAME)
        self.client.send(rpc.RENAME, rpc.rename_args("tmp", "target"))
        self.up.wait(rpc.RENAME)
        self.up.remove_path("tmp")
        self.refused()
        self.assertEqual(rpc.status(self.client.recv()), rpc.NOENT)
        self.assertEqual(self.counters(
            "postcheck_repaired", "postcheck_left"), (0, 1))

    def test_remove_of_a_name_that_never_was(self):
        """`rm lock` by who does not hold it."""
        self.enter()
        self.assertEqual(self.lookup("lock"), rpc.NOENT)
        self.stays(rpc.REMOVE, rpc.dirop("lock"), rpc.NOENT)

    def test_rmdir_of_a_name_that_never_was(self):
        self.enter()
        self.assertEqual(self.lookup("lock"), rpc.NOENT)
        self.stays(rpc.RMDIR, rpc.dirop("lock"), rpc.NOENT)


class Happened(Restarted):
    """The server did it before it went: the client is told so."""

    def told(self, proc, args):
        self.assertEqual(self.outcome(proc, args, self.up.lose_reply), 0)
        self.assertEqual(self.counters(
            "postcheck_repaired", "postcheck_left"), (1, 0))

    def setUp(self):
        super().setUp()
        self.file = self.up.make("file", rpc.REG, b"new", age=HOUR)
        self.up.make("target", rpc.REG, b"old", age=HOUR)
        self.up.make("dir", rpc.DIR, age=HOUR)
        self.enter()

    def test_link(self):
        self.lookup("file")
        self.told(rpc.LINK, rpc.link_args(self.file.fh, "new"))

    def test_rename(self):
        """A client looks both names up before it renames."""
        self.lookup("file")
        self.assertEqual(self.lookup("new"), rpc.NOENT)
        self.told(rpc.RENAME, rpc.rename_args("file", "new"))

    def test_rename_over(self):
        self.lookup("file")
        self.lookup("target")
        self.told(rpc.RENAME, rpc.rename_args("file", "target"))

    def test_remove(self):
        self.lookup("file")
        self.told(rpc.REMOVE, rpc.dirop("file"))

    def test_rmdir(self):
        self.lookup("dir")
        self.told(rpc.RMDIR, rpc.dirop("dir"))


    def untold(self, proc, args):
        """An object that was made looks like one that somebody else made
        meanwhile."""
        self.assertEqual(
            self.outcome(proc, args, self.up.lose_reply), rpc.EXIST)
        self.assertEqual(self.counters(
            "postcheck_repaired", "postcheck_left"), (0, 1))

    def test_mkdir(self):
        self.untold(rpc.MKDIR, rpc.mkdir_args("new"))

    def test_create(self):
        self.untold(rpc.CREATE, rpc.create_args("new", mode=1))

    def test_symlink(self):
        self.untold(rpc.SYMLINK, rpc.symlink_args("new", "target"))

    # Somebody else came in between. File systems use a number again at once.

    def spares(self, proc, args, name, kind):
        number = self.up.node(name).fileid
        self.up.lose_reply(proc)
        self.client.send(proc, args)
        self.up.wait(proc)
        poll(lambda: not self.up.node(name), "it is done")
        self.up.make(name, kind, fileid=number)
        self.refused()
        self.client.recv()
        self.assertTrue(self.up.node(name), "somebody else's is gone")

    def test_rmdir_spares_the_next_holders_lock(self):
        self.lookup("dir")
        self.spares(rpc.RMDIR, rpc.dirop("dir"), "dir", rpc.DIR)

    def test_remove_spares_the_next_holders_lock(self):
        self.lookup("file")
        self.spares(rpc.REMOVE, rpc.dirop("file"), "file", rpc.REG)

    def test_rename_spares_what_has_the_old_name_now(self):
        """The object that was renamed has been removed since, and its number
        used."""
        self.lookup("file")
        self.up.lose_reply(rpc.RENAME)
        self.client.send(rpc.RENAME, rpc.rename_args("file", "target"))
        self.up.wait(rpc.RENAME)
        poll(lambda: not self.up.node("file"), "it is done")
        self.up.remove_path("target")
        self.up.make("file", rpc.REG, b"next", fileid=self.file.fileid)
        self.refused()
        self.client.recv()
        self.assertTrue(self.up.node("file"))


class Failing(ChangeCase):
    """A change that fails says what is there instead."""
    settings = {"connections": 1, "prefetch": "off", "consistency": "frozen"}

    def setUp(self):
        super().setUp()
        self.file = self.up.make("file", rpc.REG, b"x" * 500, age=HOUR)
        self.enter()
        self.settle()
        self.enter()
        self.lookup("file")
        self.ok(rpc.ACCESS, rpc.access_args(self.file.fh))
        self.ok(rpc.GETATTR, opaque(self.file.fh))
        self.assertEqual(self.names(), {"file"})

    def exists(self, proc, args, kind):
        """Another machine makes it; ours is told, and finds it."""
        self.up.make("new", kind, b"target" if kind == rpc.LNK else b"")
        self.assertEqual(self.client.nfs(proc, args)[0], rpc.EXIST)
        self.assertEqual(self.lookup("new"), self.up.node("new").fh)
        self.assertEqual(self.names(), {"file", "new"})
        self.assertEqual(self.names(plus=False), {"file", "new"})

    def test_mkdir(self):
        self.exists(rpc.MKDIR, rpc.mkdir_args("new"), rpc.DIR)

    def test_create(self):
        self.exists(rpc.CREATE, rpc.create_args("new", mode=1), rpc.REG)

    def test_symlink(self):
        self.exists(rpc.SYMLINK, rpc.symlink_args("new", "x"), rpc.LNK)

    def test_link(self):
        self.exists(rpc.LINK, rpc.link_args(self.file.fh, "new"), rpc.REG)

    def test_without_wcc_data(self):
        """A server need not send any."""
        self.up.make("new", rpc.DIR)
        self.up.script(rpc.MKDIR, u32(rpc.EXIST) + rpc.NO_WCC)
        self.assertEqual(self.client.nfs(
            rpc.MKDIR, rpc.mkdir_args("new"))[0], rpc.EXIST)
        self.assertEqual(self.lookup("new"), self.up.node("new").fh)

    def gone(self, proc, args, status=rpc.NOENT):
        """Another machine removed it."""
        self.up.remove_path("file")
        self.assertEqual(self.client.nfs(proc, args)[0], status)
        self.assertEqual(self.lookup("file"), rpc.NOENT)
        self.assertEqual(self.names(), set())

    def test_remove_of_what_is_gone(self):
        self.gone(rpc.REMOVE, rpc.dirop("file"))

    def test_rename_of_what_is_gone(self):
        self.gone(rpc.RENAME, rpc.rename_args("file", "new"))

    def test_setattr_that_did_a_part(self):
        """The size was set, the mode was not."""
        def half(call):
            self.up.script(rpc.SETATTR, None)
            return u32(1) + self.up.plausible(call)[4:]
        self.up.script(rpc.SETATTR, half)
        self.assertEqual(self.client.nfs(rpc.SETATTR, rpc.setattr_args(
            self.file.fh, rpc.sattr(mode=0o644, size=3)))[0], 1)
        self.assertEqual(self.attr(self.file.fh)[2], 3)
        self.assertEqual(self.read(self.file.fh), b"xxx")

    def test_setattr_that_did_a_part_and_does_not_say(self):
        def half(call):
            self.up.script(rpc.SETATTR, None)
            self.up.plausible(call)
            return u32(1) + rpc.NO_WCC
        self.up.script(rpc.SETATTR, half)
        self.assertEqual(self.client.nfs(rpc.SETATTR, rpc.setattr_args(
            self.file.fh, rpc.sattr(mode=0o644, size=3)))[0], 1)
        self.assertEqual(self.attr(self.file.fh)[2], 3)

    def test_write_that_did_a_part(self):
        """No space: some of it was written."""
        def part(call):
            self.up.script(rpc.WRITE, None)
            return u32(28) + self.up.plausible(call)[4:][:-16]
        self.up.script(rpc.WRITE, part)
        self.assertEqual(self.client.nfs(rpc.WRITE, rpc.write_args(
            b"y" * 400, self.file.fh, offset=500))[0], 28)
        self.assertEqual(self.attr(self.file.fh)[2], 900)


class ClientGone(ChangeCase):
    """A change was sent, the connection to the server broke, and the client
    that asked for it is gone. Whoever comes later may have done something else
    since; so it is not done again when the server's reply cache is not sure to
    know it."""

    def setUp(self):
        super().setUp()
        self.file = self.up.make("file", rpc.REG, b"x" * 500, age=HOUR)
        self.enter()
        self.lookup("file")

    def leave(self, proc, args, first):
        first(proc)
        self.client.send(proc, args, xid=77)
        self.up.wait(proc)
        self.client.abort()
        self.ff.clients(0)

    def quiet(self, proc):
        """The calls of a procedure that have come when another client has been
        served over the new connection."""
        with self.ff.connect() as c:
            self.assertEqual(rpc.status(
                c.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)
            self.assertEqual(rpc.status(c.call(
                rpc.MKDIR, rpc.mkdir_args("after"))), 0)
        return len(self.up.seen(proc))

    def test_truncation_is_not_done_over_new_data(self):
        args = rpc.setattr_args(self.file.fh, rpc.sattr(size=0))
        self.leave(rpc.SETATTR, args, self.up.lose_reply)
        # Another machine writes into the file while the server is away.
        self.file.data[:] = b"somebody else's"
        self.refused()
        self.assertEqual(self.quiet(rpc.SETATTR), 1)
        self.assertEqual(bytes(self.file.data), b"somebody else's")

    def test_removal_is_not_done_to_a_new_file(self):
        self.leave(rpc.REMOVE, rpc.dirop("file"), self.up.lose_reply)
        self.up.make("file", rpc.REG, b"somebody else's")
        self.refused()
        self.assertEqual(self.quiet(rpc.REMOVE), 1)
        self.assertTrue(self.up.node("file"))

    def test_rename_is_not_done_to_a_new_file(self):
        self.leave(rpc.RENAME, rpc.rename_args("file", "old"),
                   self.up.lose_reply)
        self.up.make("file", rpc.REG, b"somebody else's")
        self.refused()
        self.assertEqual(self.quiet(rpc.RENAME), 1)
        self.assertEqual(bytes(self.up.node("file").data), b"somebody else's")

    def test_client_goes_while_the_server_is_away(self):
        self.up.lose_reply(rpc.SETATTR)
        self.client.send(rpc.SETATTR, rpc.setattr_args(
            self.file.fh, rpc.sattr(size=0)))
        self.up.wait(rpc.SETATTR)
        n = self.ff.counter("upstream_connect_failures")
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > n,
             "it is refused")
        self.client.abort()
        self.ff.clients(0)
        self.file.data[:] = b"somebody else's"
        self.up.up()
        self.assertEqual(self.quiet(rpc.SETATTR), 1)
        self.assertEqual(bytes(self.file.data), b"somebody else's")

    def test_it_is_repeated_where_the_server_knows_it(self):
        """A connection that was lost, no more: the same port, at once."""
        replies = {}

        def known(call):
            key = call.xid, call.port, call.body
            if key in replies:
                return replies[key]
            replies[key] = self.up.plausible(call)
            return memfs.fakeserver.HOLD
        self.up.script(rpc.MKDIR, known)
        self.client.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=77)
        self.up.wait(rpc.MKDIR)
        self.client.abort()
        self.ff.clients(0)
        self.up.reset_all()
        self.up.wait(rpc.MKDIR, 2)
        self.client = self.connect()
        self.assertEqual(rpc.status(self.client.call(
            rpc.MKDIR, rpc.mkdir_args("d"), xid=77)), 0)

    def test_client_that_comes_back_is_answered(self):
        """A call that was dropped is a new call when it is repeated."""
        self.leave(rpc.REMOVE, rpc.dirop("file"), self.up.ignore)
        self.refused()
        self.quiet(rpc.MKDIR)
        self.client = self.connect()
        self.assertEqual(rpc.status(self.client.call(
            rpc.REMOVE, rpc.dirop("file"), xid=77)), 0)
        self.assertFalse(self.up.node("file"))

    def test_client_that_comes_back_while_the_server_is_away(self):
        """A client whose connection broke has not gone: it repeats, and its
        call waits again."""
        self.up.lose_reply(rpc.REMOVE)
        self.lookup("file")
        self.client.send(rpc.REMOVE, rpc.dirop("file"), xid=77)
        self.up.wait(rpc.REMOVE)
        n = self.ff.counter("upstream_connect_failures")
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > n,
             "it is refused")
        self.client.abort()
        self.ff.clients(0)
        self.client = self.connect()
        self.client.send(rpc.REMOVE, rpc.dirop("file"), xid=77)
        self.ff.clients(1)
        self.up.up()
        self.assertEqual(rpc.status(self.client.recv()), 0)
        self.assertFalse(self.up.node("file"))


if __name__ == "__main__":
    daemon.main()
