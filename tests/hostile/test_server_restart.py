#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A change whose reply was lost, and a server that came back without its reply
cache: the answer is the one that the state afterwards proves."""
import socket

import daemon
import rpc
from case_resend import ResendCase
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32


class ServerRestarted(ResendCase):
    """Nobody listened for a while: the server's reply cache is gone. Before a
    change is sent again, the proxy looks what became of its first try, and it
    believes nothing but the identity of an object."""

    def look_up(self, name):
        """So that the proxy knows which object the name leads to."""
        self.assertEqual(
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(name))[0], 0)

    def restart_after(self, proc, args, before_up=None, done=True):
        """The call has its effect (where it is `done`), its reply is lost, the
        server goes away and comes back; the client's reply."""
        def script(call):
            self.up.script(proc, None)
            if done:
                self.up.plausible(call)
            return HOLD
        self.up.script(proc, script)
        failures = self.ff.counter("upstream_connect_failures")
        xid = self.client.send(proc, args)
        self.up.wait(proc)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")
        if before_up:
            before_up()
        self.up.up()
        reply = self.client.recv()
        self.assertEqual(reply.xid, xid)
        return reply

    def repaired(self, proc, args, before_up=None):
        """It was done, so it is not sent again."""
        reply = self.restart_after(proc, args, before_up)
        self.assertEqual(rpc.status(reply), 0)
        self.ff.counted("postcheck_repaired", 1)
        self.assertEqual(self.ff.counter("postcheck_left"), 0)
        self.assertEqual(len(self.up.seen(proc)), 1)
        self.bystander()
        r = rpc.Reader(reply.body)
        r.u32()
        return r

    def left(self, proc, args, status, before_up=None, sendings=2, done=True):
        reply = self.restart_after(proc, args, before_up, done)
        self.assertEqual(rpc.status(reply), status)
        self.ff.counted("postcheck_left", 1)
        self.assertEqual(self.ff.counter("postcheck_repaired"), 0)
        self.assertSameCall(self.up.wait(proc, sendings))
        self.assertEqual(len(self.up.seen(proc)), sendings)
        self.bystander()

    def repeated(self, proc, args):
        """It was not done, so it is sent again."""
        reply = self.restart_after(proc, args, done=False)
        self.assertEqual(rpc.status(reply), 0)
        self.assertSameCall(self.up.wait(proc, 2))
        self.assertEqual(self.ff.counter("postcheck_repaired"), 0)
        self.assertEqual(self.ff.counter("postcheck_left"), 0)
        self.bystander()

    def test_what_was_made_has_no_identity(self):
        """Whether it was made by the first try, or by somebody else who holds
        a lock now, cannot be told."""
        fh, _ = self.up.make(b"file", rpc.REG)
        cases = {
            rpc.MKDIR: rpc.mkdir_args("a"),
            rpc.CREATE: rpc.create_args("b", mode=1),
            rpc.SYMLINK: rpc.symlink_args("c", "target"),
            rpc.MKNOD: rpc.mknod_args("d"),
            rpc.LINK: rpc.link_args(fh, "e"),
        }
        for n, (proc, args) in enumerate(cases.items()):
            with self.subTest(proc=proc):
                reply = self.restart_after(proc, args)
                self.assertEqual(rpc.status(reply), rpc.EXIST)
                self.ff.counted("postcheck_left", n + 1)
        self.assertEqual(self.ff.counter("postcheck_repaired"), 0)
        self.assertTrue(self.ff.lines("cannot be told"))

    def test_what_was_not_made_is_made(self):
        self.repeated(rpc.MKDIR, rpc.mkdir_args("a"))

    def test_lock_directory_of_somebody_else(self):
        """Known before, or not: two must not hold it."""
        self.up.make(b"lock", rpc.DIR, uid=1000)
        self.left(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST, done=False)

    def test_lock_directory_that_was_known(self):
        self.up.make(b"lock", rpc.DIR, uid=1000)
        self.look_up("lock")
        self.left(rpc.MKDIR, rpc.mkdir_args("lock"), rpc.EXIST, done=False)

    def test_repaired_reply_is_remembered(self):
        xid = 4242
        self.up.make(b"d", rpc.DIR)
        self.look_up("d")
        self.client.xids = iter([xid, 5001, 5002])
        self.repaired(rpc.RMDIR, rpc.dirop("d"))
        n = len(self.up.seen(rpc.RMDIR))
        self.client.send(rpc.RMDIR, rpc.dirop("d"), xid=xid)
        self.assertEqual(rpc.status(self.client.recv()), 0)
        self.assertEqual(len(self.up.seen(rpc.RMDIR)), n)
        self.assertEqual(self.ff.counter("drc_hits"), 1)

    def test_link(self):
        fh, _ = self.up.make(b"f", rpc.REG)
        self.look_up("f")
        two = fh, rpc.fattr(rpc.REG, nlink=2)
        self.repaired(rpc.LINK, rpc.link_args(fh, "g"),
                      lambda: self.up.names.update({b"f": two, b"g": two}))

    def test_link_that_was_there_before(self):
        fh, attr = self.up.make(b"f", rpc.REG)
        self.up.names[b"g"] = fh, attr
        self.look_up("g")
        self.left(rpc.LINK, rpc.link_args(fh, "g"), rpc.EXIST, done=False)

    def test_link_but_it_is_another_file(self):
        fh, _ = self.up.make(b"f", rpc.REG)
        self.look_up("f")
        self.left(rpc.LINK, rpc.link_args(fh, "g"), rpc.EXIST,
                  lambda: self.up.make(b"g", rpc.REG))

    def test_remove(self):
        self.up.make(b"f", rpc.REG)
        self.look_up("f")
        self.repaired(rpc.REMOVE, rpc.dirop("f"))

    def test_rmdir(self):
        self.up.make(b"d", rpc.DIR)
        self.look_up("d")
        self.repaired(rpc.RMDIR, rpc.dirop("d"))

    def test_remove_that_was_not_done(self):
        self.up.make(b"f", rpc.REG)
        self.look_up("f")
        self.repeated(rpc.REMOVE, rpc.dirop("f"))
        self.assertNotIn(b"f", self.up.names)

    def test_remove_of_what_the_proxy_never_saw(self):
        self.left(rpc.REMOVE, rpc.dirop("f"), rpc.NOENT, done=False)

    def test_rmdir_spares_the_next_holder(self):
        """The lock was released by the first try, and taken by another."""
        self.up.make(b"lock", rpc.DIR)
        self.look_up("lock")
        self.left(rpc.RMDIR, rpc.dirop("lock"), rpc.NOENT,
                  lambda: self.up.names.update({b"lock": (
                      b"fh-next-holder..", rpc.fattr(rpc.DIR, 999))}),
                  sendings=1)
        self.assertEqual(self.up.names[b"lock"][0], b"fh-next-holder..")

    def test_rename(self):
        self.up.make(b"old", rpc.REG)
        self.look_up("old")
        self.repaired(rpc.RENAME, rpc.rename_args("old", "new"))

    def test_rename_that_was_not_done(self):
        self.up.make(b"old", rpc.REG)
        self.look_up("old")
        self.repeated(rpc.RENAME, rpc.rename_args("old", "new"))

    def test_rename_onto_what_had_long_been_there(self):
        """The old name never was; the target is an old file."""
        fh, _ = self.up.make(b"new", rpc.REG, size=111)
        self.left(rpc.RENAME, rpc.rename_args("old", "new"), rpc.NOENT,
                  done=False)
        self.assertEqual(self.up.names[b"new"][0], fh)

    def test_rename_of_what_somebody_else_took(self):
        self.up.make(b"old", rpc.REG)
        self.up.make(b"new", rpc.REG, size=111)
        self.look_up("old")

        def take():
            self.up.names[b"taken"] = self.up.names.pop(b"old")
        self.left(rpc.RENAME, rpc.rename_args("old", "new"), rpc.NOENT, take,
                  sendings=1, done=False)

    def test_rename_spares_what_has_the_old_name_now(self):
        self.up.make(b"old", rpc.REG)
        self.look_up("old")
        self.repaired(rpc.RENAME, rpc.rename_args("old", "new"),
                      lambda: self.up.names.update({b"old": (
                          b"fh-another-old..", rpc.fattr(rpc.REG, 999))}))
        self.assertIn(b"old", self.up.names)

    def test_rename_spares_it_where_the_new_name_cannot_be_told(self):
        self.up.make(b"old", rpc.REG)
        self.look_up("old")

        def take():
            self.up.names[b"old"] = (
                b"fh-another-old..", rpc.fattr(rpc.REG, 999))
            self.up.script(
                rpc.LOOKUP, lambda call: u32(rpc.ACCES) + rpc.post_op(None)
                if opaque(b"new") in call.body else None)
        self.left(rpc.RENAME, rpc.rename_args("old", "new"), rpc.NOENT, take,
                  sendings=1, done=False)
        self.assertEqual(self.up.names[b"old"][0], b"fh-another-old..")

    def test_rename_but_neither_is_there(self):
        self.up.make(b"old", rpc.REG)
        self.look_up("old")
        self.left(rpc.RENAME, rpc.rename_args("old", "new"), rpc.NOENT,
                  lambda: self.up.names.clear(), sendings=1)

    def test_nobody_wants_it_any_more(self):
        """A client that is gone has no change repeated, until it comes back
        for it."""
        self.up.make(b"f", rpc.REG)
        fh, _ = self.up.names[b"f"]
        args = rpc.setattr_args(fh, rpc.sattr(size=0))
        self.up.script(rpc.SETATTR, lambda call: HOLD)
        failures = self.ff.counter("upstream_connect_failures")
        self.client.send(rpc.SETATTR, args, xid=77)
        self.up.wait(rpc.SETATTR)
        self.client.abort()
        self.ff.clients(0)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")
        self.up.script(rpc.SETATTR, u32(0) + rpc.NO_WCC)
        self.up.up()
        self.bystander()
        self.assertEqual(len(self.up.seen(rpc.SETATTR)), 1)
        client = self.connect()
        reply = client.call(rpc.SETATTR, args, xid=77)
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))
        self.assertSameCall(self.up.wait(rpc.SETATTR, 2))

    def guarded(self, mode, asked=rpc.sattr(mode=0o600)):
        """A SETATTR whose guard no longer holds when it is repeated."""
        fh, _ = self.up.make(b"f", rpc.REG)
        done = []

        def setattr_once(call):
            if done:
                return u32(rpc.NOT_SYNC) + rpc.NO_WCC
            done.append(call)
            self.up.names[b"f"] = fh, rpc.fattr(mode=mode, ctime=(9, 9))
            return HOLD
        failures = self.ff.counter("upstream_connect_failures")
        self.up.script(rpc.SETATTR, setattr_once)
        self.client.send(rpc.SETATTR, rpc.setattr_args(
            fh, asked, guard=(5, 0)))
        self.up.wait(rpc.SETATTR)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")
        self.up.up()
        return rpc.status(self.client.recv())

    def test_setattr_with_a_guard(self):
        self.assertEqual(self.guarded(0o600), 0)
        self.ff.counted("postcheck_repaired", 1)

    def test_setattr_with_a_guard_but_somebody_else_did_it(self):
        self.assertEqual(self.guarded(0o640), rpc.NOT_SYNC)
        self.ff.counted("postcheck_left", 1)

    def test_setattr_with_a_guard_that_cannot_be_seen(self):
        """The server's time: any other change looks the same."""
        now = rpc.sattr()[:-4] + u32(1)
        self.assertEqual(self.guarded(0o640, now), rpc.NOT_SYNC)
        self.ff.counted("postcheck_left", 1)


class LookedAtTooEarly(ResendCase):
    """The connection that a change is to be repeated over is lost again while
    the proxy looks, over another one."""
    settings = {"connections": 2}

    def refuse(self):
        """No new connections; those that there are stay."""
        with self.up.cond:
            listener, self.up.listener = self.up.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()

    def waits(self):
        return sum(u["queued"] for u in self.ff.control("status")["upstreams"])

    def test_looks_again(self):
        self.up.make(b"lock", rpc.DIR)
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args("lock"))
        self.hold(rpc.RMDIR)
        failures = self.ff.counter("upstream_connect_failures")
        self.client.send(rpc.RMDIR, rpc.dirop("lock"))
        self.up.wait(rpc.RMDIR)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")
        self.up.script(rpc.RMDIR, None)
        looks = self.hold(rpc.LOOKUP)
        self.up.up()
        poll(lambda: looks and len(self.up.conns) == 2, "it looks")
        self.refuse()
        looks[0].conn.reset()
        poll(lambda: len(looks) == 2, "it looks over the other one")
        looks[1].reply(self.up.plausible(looks[1]))
        poll(lambda: self.waits() == 1, "it is to be repeated")
        self.up.script(rpc.LOOKUP, None)
        holder = b"fh-next-holder.."
        self.up.names[b"lock"] = holder, rpc.fattr(rpc.DIR, 999)
        self.up.up()
        self.assertEqual(rpc.status(self.client.recv()), rpc.NOENT)
        self.assertEqual(self.up.names[b"lock"][0], holder)
        self.assertEqual(len(self.up.seen(rpc.RMDIR)), 1)
        self.bystander()


if __name__ == "__main__":
    daemon.main()
