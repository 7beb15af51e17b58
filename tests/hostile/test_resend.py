#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract of sending again: a call is sent until it is answered, a
change has its effect once, and the client gets the first reply."""
import socket

import daemon
import rpc
from daemon import poll
from fakeserver import CLOSE, HOLD
from rpc import opaque, u32


class ResendCase(daemon.Case):
    settings = {"connections": 1}

    def setUp(self):
        super().setUp()
        self.client = self.connect()
        poll(lambda: self.up.conns, "it is connected")

    def lose_reply(self, proc):
        """The next call of this kind has its effect, and its reply is lost;
        repeats meet a server that does not know them."""
        def script(call):
            self.up.script(proc, None)
            self.up.plausible(call)
            return CLOSE
        self.up.script(proc, script)

    def reply_cache(self, proc):
        """As lose_reply(), but the server knows a repeated XID from the same
        port, as knfsd does."""
        replies = {}

        def script(call):
            key = call.xid, call.port, call.body
            if key in replies:
                return replies[key]
            replies[key] = self.up.plausible(call)
            return CLOSE
        self.up.script(proc, script)

    def hold(self, proc):
        held = []
        self.up.script(proc, lambda call: held.append(call) or HOLD)
        return held

    def assertSameCall(self, calls, port=True):
        self.assertEqual(len({c.xid for c in calls}), 1)
        self.assertEqual(len({c.body for c in calls}), 1)
        self.assertEqual(len({c.cred for c in calls}), 1)
        if port:
            self.assertEqual(len({c.port for c in calls}), 1)

    def restart(self):
        self.ff.kill()
        self.ff.start()
        self.client = self.connect()


class ConnectionLost(ResendCase):
    """After the server had the call, before its reply."""

    def test_read_is_sent_again(self):
        self.lose_reply(rpc.READ)
        st, r = self.client.nfs(rpc.READ, rpc.read_args(offset=8, count=64))
        self.assertEqual((st, r.rest()[16:]), (0, rpc.pattern(8, 64)))
        calls = self.up.wait(rpc.READ, 2)
        self.assertSameCall(calls, port=False)
        self.assertEqual(self.ff.counter("upstream_resent"), 1)
        self.bystander()

    def test_write_is_sent_again(self):
        data = bytes(range(256)) * 2048
        self.lose_reply(rpc.WRITE)
        self.assertEqual(rpc.status(self.client.call(
            rpc.WRITE, rpc.write_args(data))), 0)
        calls = self.up.wait(rpc.WRITE, 2)
        self.assertSameCall(calls, port=False)
        self.assertEqual(calls[1].body, rpc.write_args(data))

    def test_change_goes_from_the_same_port_under_the_same_xid(self):
        cases = {
            rpc.MKDIR: rpc.mkdir_args("a"),
            rpc.CREATE: rpc.create_args("b", mode=1),
            rpc.SYMLINK: rpc.symlink_args("c", "target"),
            rpc.MKNOD: rpc.mknod_args("d"),
            rpc.RENAME: rpc.rename_args("a", "e"),
            rpc.LINK: rpc.link_args(rpc.ROOT, "f"),
            rpc.REMOVE: rpc.dirop("b"),
            rpc.RMDIR: rpc.dirop("e"),
            rpc.SETATTR: rpc.setattr_args(guard=(5, 0)),
        }
        for n, (proc, args) in enumerate(cases.items()):
            with self.subTest(proc=proc):
                self.reply_cache(proc)
                self.assertEqual(
                    rpc.status(self.client.call(proc, args)), 0)
                self.assertSameCall(self.up.wait(proc, 2))
        stats = self.ff.control("stats")["counters"]
        self.assertEqual(stats["upstream_resent"], len(cases))
        self.assertEqual(stats["upstream_resent_other_port"], 0)
        self.assertEqual(stats["postcheck_repaired"], 0)
        self.bystander()

    def test_lost_again_and_again(self):
        held = []

        def script(call):
            held.append(call)
            return CLOSE if len(held) < 4 else None
        self.up.script(rpc.MKDIR, script)
        self.assertEqual(rpc.status(self.client.call(
            rpc.MKDIR, rpc.mkdir_args("d"))), 0)
        self.assertSameCall(self.up.wait(rpc.MKDIR, 4))
        self.bystander()

    def test_many_at_once(self):
        held = self.hold(rpc.MKDIR)
        for i in range(50):
            self.client.send(rpc.MKDIR, rpc.mkdir_args("d%d" % i), xid=i)
        self.up.wait(rpc.MKDIR, 50)
        self.up.script(rpc.MKDIR, None)
        self.up.reset_all()
        self.assertEqual({self.client.recv().xid for _ in range(50)},
                         set(range(50)))
        calls = self.up.wait(rpc.MKDIR, 100)
        for first in held:
            self.assertSameCall([c for c in calls if c.body == first.body])
        self.assertEqual([c.body for c in calls[:50]],
                         [c.body for c in calls[50:]])
        self.bystander()

    def test_exist_from_a_server_that_was_not_away_stays(self):
        """Its reply cache would have known the call."""
        self.lose_reply(rpc.MKDIR)
        self.assertEqual(rpc.status(self.client.call(
            rpc.MKDIR, rpc.mkdir_args("d"))), rpc.EXIST)
        self.assertSameCall(self.up.wait(rpc.MKDIR, 2))
        self.assertEqual(self.up.seen(rpc.LOOKUP), [])
        self.assertEqual(self.ff.counter("postcheck_repaired"), 0)
        self.bystander()

    def test_exist_without_a_repeat_stays(self):
        self.up.make(b"d", rpc.DIR)
        self.assertEqual(rpc.status(self.client.call(
            rpc.MKDIR, rpc.mkdir_args("d"))), rpc.EXIST)
        self.assertEqual(self.up.seen(rpc.LOOKUP), [])


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
        n = len(self.up.calls)
        self.client.send(rpc.RMDIR, rpc.dirop("d"), xid=xid)
        self.assertEqual(rpc.status(self.client.recv()), 0)
        self.assertEqual(len(self.up.calls), n)
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
                rpc.LOOKUP, lambda call: u32(rpc.JUKEBOX) + rpc.post_op(None)
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


class ClientRepeats(ResendCase):
    args = rpc.mkdir_args("d")

    def test_finished(self):
        first = self.client.call(rpc.MKDIR, self.args, xid=77)
        again = self.client.call(rpc.MKDIR, self.args, xid=77)
        other = self.connect().call(rpc.MKDIR, self.args, xid=77)
        self.assertEqual((first.raw, first.raw), (again.raw, other.raw))
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)
        self.assertEqual(self.ff.counter("drc_hits"), 2)
        self.bystander()

    def test_not_the_same_call(self):
        """Same XID, but something else about it differs."""
        self.client.call(rpc.MKDIR, self.args, xid=77)
        for what in ({"cred": rpc.auth_sys(uid=5)},
                     {"cred": rpc.auth_sys(machine="other")},
                     {"source": "127.0.0.2"}):
            source = what.pop("source", None)
            client = self.connect(source=source)
            self.assertEqual(rpc.status(client.call(
                rpc.MKDIR, self.args, xid=77, **what)), rpc.EXIST)
        self.assertEqual(rpc.status(self.client.call(
            rpc.MKDIR, rpc.mkdir_args("e"), xid=77)), 0)
        self.assertEqual(rpc.status(self.client.call(
            rpc.RMDIR, rpc.dirop("e"), xid=77)), 0)
        self.assertEqual(self.ff.counter("drc_hits"), 0)

    def test_in_progress_on_the_same_connection(self):
        held = self.hold(rpc.MKDIR)
        for _ in range(5):
            self.client.send(rpc.MKDIR, self.args, xid=77)
        self.ff.counted("drc_in_progress_dropped", 4)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)
        held[0].reply(self.up.plausible(held[0]))
        reply = self.client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))
        # One reply, and then the connection is as good as before.
        self.assertEqual(rpc.status(self.client.call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.bystander()

    def test_in_progress_on_a_new_connection(self):
        held = self.hold(rpc.MKDIR)
        self.client.send(rpc.MKDIR, self.args, xid=77)
        self.up.wait(rpc.MKDIR)
        self.client.abort()
        self.ff.clients(0)
        client = self.connect()
        client.send(rpc.MKDIR, self.args, xid=77)
        self.ff.counted("drc_reattached", 1)
        held[0].reply(self.up.plausible(held[0]))
        reply = client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)
        self.bystander()

    def test_reply_that_nobody_took(self):
        held = self.hold(rpc.MKDIR)
        self.client.send(rpc.MKDIR, self.args, xid=77)
        self.up.wait(rpc.MKDIR)
        self.client.abort()
        self.ff.clients(0)
        held[0].reply(self.up.plausible(held[0]))
        client = self.connect()
        reply = client.call(rpc.MKDIR, self.args, xid=77)
        self.assertEqual(rpc.status(reply), 0)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)

    def test_nobody_waits_while_the_state_is_looked_at(self):
        """The client goes while the proxy looks; its repeat gets the
        outcome."""
        args = rpc.dirop("d")

        def effect(call):
            self.up.script(rpc.RMDIR, None)
            self.up.plausible(call)
            return HOLD
        self.up.make(b"d", rpc.DIR)
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args("d"))
        self.up.script(rpc.RMDIR, effect)
        lookups = self.hold(rpc.LOOKUP)
        failures = self.ff.counter("upstream_connect_failures")
        self.client.send(rpc.RMDIR, args, xid=77)
        self.up.wait(rpc.RMDIR)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")
        self.up.up()
        poll(lambda: lookups, "it looks")
        self.client.abort()
        self.ff.clients(0)
        client = self.connect()
        client.send(rpc.RMDIR, args, xid=77)
        self.ff.counted("drc_reattached", 1)
        lookups[0].reply(self.up.plausible(lookups[0]))
        reply = client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))
        self.bystander()

    def test_more_changes_than_the_cache_holds(self):
        """The oldest are forgotten, and nothing else happens."""
        self.up.script(rpc.SETATTR, u32(0) + rpc.NO_WCC)
        for first in range(0, 5000, 100):
            for xid in range(first, first + 100):
                self.client.send(rpc.SETATTR, rpc.setattr_args(), xid=xid)
            got = {self.client.recv().xid for _ in range(100)}
            self.assertEqual(got, set(range(first, first + 100)))
        n = len(self.up.seen(rpc.SETATTR))
        self.client.call(rpc.SETATTR, rpc.setattr_args(), xid=4999)
        self.assertEqual(len(self.up.seen(rpc.SETATTR)), n)
        self.client.call(rpc.SETATTR, rpc.setattr_args(), xid=0)
        self.assertEqual(len(self.up.seen(rpc.SETATTR)), n + 1)
        self.bystander()


class Killed(ResendCase):
    """kill -9 and a new start over the same cache_dir."""
    args = rpc.mkdir_args("d")

    def test_finished(self):
        first = self.client.call(rpc.MKDIR, self.args, xid=77)
        self.restart()
        again = self.client.call(rpc.MKDIR, self.args, xid=77)
        self.assertEqual(first.raw, again.raw)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)
        self.assertEqual(self.ff.counter("drc_hits"), 1)
        self.assertEqual(self.ff.counter("drc_recovered"), 1)
        self.bystander()

    def test_in_progress(self):
        held = self.hold(rpc.MKDIR)
        self.client.send(rpc.MKDIR, self.args, xid=77)
        self.up.wait(rpc.MKDIR)
        self.restart()
        self.up.script(rpc.MKDIR, None)
        reply = self.client.call(rpc.MKDIR, self.args, xid=77)
        self.assertEqual(rpc.status(reply), 0)
        self.assertSameCall(self.up.wait(rpc.MKDIR, 2))
        self.assertEqual(self.up.seen(rpc.MKDIR)[0].xid, held[0].xid)
        self.bystander()

    def both_restarted(self):
        """The server, too, while the call was in progress; it had done it."""
        self.up.make(b"d", rpc.DIR)
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args("d"))
        self.hold(rpc.RMDIR)
        self.client.send(rpc.RMDIR, rpc.dirop("d"), xid=77)
        self.up.wait(rpc.RMDIR)
        self.ff.kill()
        self.up.down()
        self.ff.start()
        poll(lambda: self.ff.counter("upstream_connect_failures"), "refused")
        self.up.script(rpc.RMDIR, None)
        del self.up.names[b"d"]

    def found_done(self, reply):
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))
        self.assertEqual(len(self.up.seen(rpc.RMDIR)), 1)
        self.ff.counted("postcheck_repaired", 1)
        self.bystander()

    def test_repeated_while_the_server_is_away(self):
        self.both_restarted()
        self.client = self.connect()
        self.client.send(rpc.RMDIR, rpc.dirop("d"), xid=77)
        poll(lambda: self.ff.control("status")["upstreams"][0]["queued"],
             "it waits")
        self.up.up()
        self.found_done(self.client.recv())

    def test_repeated_when_the_server_is_back(self):
        self.both_restarted()
        self.up.up()
        poll(lambda: self.ff.control("status")["state"] == "up", "it is up")
        self.client = self.connect()
        self.found_done(
            self.client.call(rpc.RMDIR, rpc.dirop("d"), xid=77))

    def test_in_progress_twice(self):
        self.hold(rpc.MKDIR)
        self.client.send(rpc.MKDIR, self.args, xid=77)
        self.up.wait(rpc.MKDIR)
        self.restart()
        self.client.send(rpc.MKDIR, self.args, xid=77)
        self.up.wait(rpc.MKDIR, 2)
        self.restart()
        self.up.script(rpc.MKDIR, None)
        self.assertEqual(rpc.status(
            self.client.call(rpc.MKDIR, self.args, xid=77)), 0)
        self.assertSameCall(self.up.wait(rpc.MKDIR, 3))

    def test_not_yet_sent(self):
        """What the server never had is a new call."""
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures"), "refused")
        self.client.send(rpc.MKDIR, self.args, xid=77)
        poll(lambda: self.ff.control("status")["upstreams"][0]["queued"],
             "it is queued")
        self.ff.kill()
        self.up.up()
        self.ff.start()
        self.client = self.connect()
        self.assertEqual(self.ff.counter("drc_recovered"), 0)
        self.assertEqual(rpc.status(
            self.client.call(rpc.MKDIR, self.args, xid=77)), 0)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)

    def test_damaged_file(self):
        self.client.call(rpc.MKDIR, self.args, xid=77)
        self.ff.kill()
        path = self.ff.drc
        with open(path, "r+b") as f:
            size = f.seek(0, 2)
            for at in range(8, size, 509):
                f.seek(at)
                f.write(b"\xa5\x5a\xff")
        self.ff.start()
        self.client = self.connect()
        self.assertEqual(rpc.status(
            self.client.call(rpc.MKDIR, self.args, xid=77)), rpc.EXIST)
        self.bystander()

    def test_file_cut_short_or_of_zeros(self):
        path = self.ff.drc
        for n, content in enumerate((b"", b"\0" * 100, b"\xff" * 2000000)):
            self.ff.kill()
            with open(path, "wb") as f:
                f.write(content)
            self.ff.start()
            self.client = self.connect()
            self.assertEqual(rpc.status(self.client.call(
                rpc.MKDIR, rpc.mkdir_args("d%d" % n), xid=77)), 0)


class Away(ResendCase):
    """The server is down when the calls come."""

    def setUp(self):
        super().setUp()
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures"), "refused")

    def queued(self, n):
        poll(lambda: self.ff.control("status")["upstreams"][0]["queued"] == n,
             "%d calls are queued" % n)

    def test_change_not_sent_is_dropped_with_its_client(self):
        other = self.connect()
        self.client.send(rpc.MKDIR, rpc.mkdir_args("dropped"))
        other.send(rpc.MKDIR, rpc.mkdir_args("kept"))
        self.queued(2)
        self.client.close()
        self.ff.counted("changes_dropped_unsent", 1)
        self.queued(1)
        self.up.up()
        self.assertEqual(rpc.status(other.recv()), 0)
        self.bystander()
        self.assertEqual([c.body for c in self.up.seen(rpc.MKDIR)],
                         [rpc.mkdir_args("kept")])

    def test_dropped_change_is_new_when_it_comes_again(self):
        self.client.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=77)
        self.queued(1)
        self.client.close()
        self.ff.counted("changes_dropped_unsent", 1)
        client = self.connect()
        client.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=77)
        self.up.up()
        self.assertEqual(rpc.status(client.recv()), 0)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)

    def test_equal_calls_are_joined(self):
        clients = [self.connect() for _ in range(5)]
        for c in clients:
            c.send(rpc.GETATTR, opaque(rpc.ROOT))
            c.send(rpc.GETATTR, opaque(rpc.ROOT))
        self.queued(1)
        self.ff.counted("calls_joined", 9)
        self.up.up()
        for c in clients:
            self.assertEqual([rpc.status(c.recv()) for _ in range(2)], [0, 0])
        self.assertEqual(len(self.up.seen(rpc.GETATTR)), 1)
        self.bystander()

    def test_equal_calls_of_other_users_are_not(self):
        creds = [rpc.auth_sys(uid=1), rpc.auth_sys(uid=2),
                 rpc.auth_sys(uid=1, gids=(5,)), (rpc.AUTH_NONE, b"")]
        for i, cred in enumerate(creds):
            self.client.send(
                rpc.GETATTR, opaque(rpc.ROOT), xid=i, cred=cred)
        self.queued(4)
        self.up.script(rpc.GETATTR, lambda call: u32(0) + rpc.fattr(
            fileid=creds.index(call.cred)))
        self.up.up()
        for _ in creds:
            reply = self.client.recv()
            self.assertEqual(reply.body, u32(0) + rpc.fattr(fileid=reply.xid))
        self.assertEqual(len(self.up.seen(rpc.GETATTR)), 4)

    def test_joined_calls_outlive_the_first_one(self):
        """The one that the others wait with goes away."""
        others = [self.connect() for _ in range(3)]
        self.client.send(rpc.GETATTR, opaque(rpc.ROOT))
        self.queued(1)
        for c in others:
            c.send(rpc.GETATTR, opaque(rpc.ROOT))
        self.ff.counted("calls_joined", 3)
        self.client.abort()
        self.ff.clients(3)
        others.pop().abort()
        self.ff.clients(2)
        self.up.up()
        for c in others:
            self.assertEqual(rpc.status(c.recv()), 0)
        self.assertEqual(len(self.up.seen(rpc.GETATTR)), 1)
        self.bystander()

    def test_equal_changes_are_not_joined(self):
        other = self.connect()
        self.client.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=1)
        other.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=2)
        self.queued(2)
        self.up.up()
        self.assertEqual(sorted(rpc.status(c.recv())
                                for c in (self.client, other)), [0, 17])

    def test_mount_waits_and_comes_back(self):
        path = opaque("/src")
        for _ in range(3):
            self.client.send(rpc.MNT, path, prog=rpc.MOUNT)
            self.assertRpcError(self.connect().call(rpc.NULL), rpc.SUCCESS)
            self.up.up()
            reply = self.client.recv()
            self.assertEqual(rpc.status(reply), 0)
            self.assertEqual(rpc.status(self.client.call(
                rpc.MNT, path, prog=rpc.MOUNT)), 0)
            self.up.down()
        self.assertEqual(len(self.up.seen(rpc.MNT, rpc.MOUNT)), 6)

    def test_null_is_answered_all_the_same(self):
        self.assertRpcError(self.client.call(rpc.NULL), rpc.SUCCESS)
        self.assertRpcError(self.client.call(0, prog=rpc.MOUNT), rpc.SUCCESS)


if __name__ == "__main__":
    daemon.main()
