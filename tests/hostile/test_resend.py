#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract of sending again: a call is sent until it is answered, a
change has its effect once, and the client gets the first reply."""

import daemon
import rpc
from case_resend import ResendCase
from daemon import poll
from fakeserver import CLOSE, HOLD
from rpc import opaque, u32


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

    def test_exclusive_create_in_progress(self):
        """The server may have made the file: so this is not refused, as the
        first one on a connection is."""
        args = [rpc.create_args(n, mode=2, verf=b"verifier") for n in "ab"]
        first = self.client.call(rpc.CREATE, args[0], xid=76)
        self.assertEqual(rpc.status(first), rpc.NOTSUPP)
        self.hold(rpc.CREATE)
        self.client.send(rpc.CREATE, args[1], xid=77)
        self.up.wait(rpc.CREATE)
        self.restart()
        self.up.script(rpc.CREATE, None)
        reply = self.client.call(rpc.CREATE, args[1], xid=77)
        self.assertEqual(rpc.status(reply), 0)
        self.assertSameCall(self.up.wait(rpc.CREATE, 2))
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
        """A call that the server never had is a new call."""
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
