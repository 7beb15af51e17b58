#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that lies, stalls or talks nonsense: the client gets an error or
a repeated call's right answer, never the lie, and the others go on."""
import time
import unittest

import daemon
import rpc
from daemon import poll
from fakeserver import CLOSE, HOLD, Raw, Stream
from rpc import opaque, record, u32, u64

MIB = 1 << 20
VICTIM = b"victim-handle"


def once(*whats):
    """A script that does each of these once, then the plausible."""
    left = list(whats)

    def script(call):
        if call.reader().opaque() != VICTIM or not left:
            return None
        what = left.pop(0)
        return what(call) if callable(what) else what
    return script


def always(what):
    def script(call):
        if call.reader().opaque() != VICTIM:
            return None
        return what(call) if callable(what) else what
    return script


class Results(daemon.Case):
    """Well-formed RPC replies with results that can't be: NFS3ERR_IO."""

    def setUp(self):
        super().setUp()
        self.client = self.connect()
        self.lies = 0

    def lie(self, proc, args, results, prog=rpc.NFS):
        self.up.script(proc, always(results) if prog == rpc.NFS else results,
                       prog)
        reply = self.client.call(proc, args, prog=prog)
        self.assertEqual(rpc.status(reply), rpc.IO)
        self.lies += 1
        self.ff.counted("upstream_bad_replies", self.lies)
        self.assertTrue(self.ff.lines("warn", "malformed"))
        self.up.script(proc, None, prog)

    def tearDown(self):
        self.bystander()
        # None of this is worth a connection.
        self.assertEqual(self.ff.counter("upstream_disconnects"), 0)

    def read(self, results):
        self.lie(rpc.READ, rpc.read_args(VICTIM, 0, 64), results)

    def test_read_more_than_asked(self):
        self.read(rpc.read_ok(b"m" * 128))

    def test_read_of_another_count(self):
        self.read(rpc.read_ok(b"m" * 64, count=32))
        self.read(rpc.read_ok(b"m" * 32, count=64))

    def test_read_that_claims_4_gib(self):
        self.read(rpc.read_ok(b"m" * 64, claim=0xffffffff))
        self.read(rpc.read_ok(b"m" * 64, count=0xfffffffc, claim=0xfffffffc))

    def test_results_cut_anywhere(self):
        cases = {
            rpc.GETATTR: (opaque(VICTIM), u32(0) + rpc.fattr()),
            rpc.LOOKUP: (rpc.lookup_args("n", VICTIM),
                         rpc.lookup_ok(b"fh", rpc.fattr())),
            rpc.READ: (rpc.read_args(VICTIM), rpc.read_ok(b"12345678")),
            rpc.MKDIR: (rpc.mkdir_args("n", VICTIM),
                        rpc.newobj(b"fh", rpc.fattr(rpc.DIR))),
            rpc.WRITE: (rpc.write_args(b"12345678", VICTIM),
                        rpc.write_ok(8)),
        }
        for proc, (args, results) in cases.items():
            for n in range(0, len(results), 12):
                with self.subTest(proc=proc, bytes=n):
                    self.lie(proc, args, results[:n])

    def test_lookup_without_a_handle(self):
        self.lie(rpc.LOOKUP, rpc.lookup_args("n", VICTIM),
                 rpc.lookup_ok(b"", rpc.fattr()))

    def test_lookup_with_a_handle_of_65_bytes(self):
        self.lie(rpc.LOOKUP, rpc.lookup_args("n", VICTIM),
                 rpc.lookup_ok(b"h" * 65, rpc.fattr()))

    def test_write_of_more_than_was_sent(self):
        self.lie(rpc.WRITE, rpc.write_args(b"12345678", VICTIM),
                 rpc.write_ok(4096))

    def test_write_committed_beyond_the_enum(self):
        self.lie(rpc.WRITE, rpc.write_args(b"12345678", VICTIM),
                 rpc.write_ok(8, committed=3))

    def test_readdir_list_without_an_end(self):
        entry = u32(1) + u64(5) + opaque("name") + u64(1)
        self.lie(rpc.READDIR, rpc.readdir_args(VICTIM),
                 u32(0, 0) + b"\0" * 8 + entry * 10)

    def test_readdir_name_of_256_bytes(self):
        self.lie(rpc.READDIR, rpc.readdir_args(VICTIM),
                 u32(0, 0) + b"\0" * 8 + u32(1) + u64(5) +
                 opaque("n" * 256) + u64(1) + u32(0, 1))

    def test_readdirplus_handle_of_4_gib(self):
        self.lie(rpc.READDIRPLUS, rpc.readdirplus_args(VICTIM),
                 u32(0, 0) + b"\0" * 8 + u32(1) + u64(5) + opaque("n") +
                 u64(1) + u32(0, 1, 0xffffffff) + b"h" * 64)

    def test_mnt_without_a_handle(self):
        self.lie(rpc.MNT, opaque("/src"), u32(0) + opaque(b"") + u32(1, 1),
                 rpc.MOUNT)

    def test_mnt_with_4_gib_of_flavors(self):
        self.lie(rpc.MNT, opaque("/src"),
                 u32(0) + opaque(b"fh") + u32(0xffffffff, 1), rpc.MOUNT)

    def test_log_is_rate_limited(self):
        self.up.script(rpc.READ, always(rpc.read_ok(b"m" * 128)))
        for _ in range(60):
            self.client.call(rpc.READ, rpc.read_args(VICTIM, 0, 64))
        self.ff.counted("upstream_bad_replies", 60)
        self.assertLess(len(self.ff.lines("warn", "malformed")), 30)

    def test_change_with_a_bad_reply_is_not_remembered(self):
        """The client's repeat goes to the server and not to the cache."""
        self.up.script(rpc.MKDIR, once(u32(0)))
        args = rpc.mkdir_args("d", VICTIM)
        self.assertEqual(
            rpc.status(self.client.call(rpc.MKDIR, args, xid=5)), rpc.IO)
        self.assertEqual(
            rpc.status(self.client.call(rpc.MKDIR, args, xid=5)), rpc.OK)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 2)


class Streams(daemon.Case):
    """Bytes that are no sequence of replies cost the connection; the call is
    repeated over a new one."""
    settings = {"connections": 1}

    def mended(self, what, counter="upstream_bad_replies"):
        """The first answer is bad, the second good."""
        before = self.ff.counter(counter)
        client = self.connect()
        self.up.script(rpc.READ, once(what))
        st, r = client.nfs(rpc.READ, rpc.read_args(VICTIM, 8, 64))
        self.assertEqual(st, 0)
        self.assertEqual(r.rest()[16:], rpc.pattern(8, 64))
        calls = self.up.seen(rpc.READ)
        self.assertEqual([c.xid for c in calls], [calls[0].xid] * 2)
        self.assertEqual(len(self.up.accepts), 2)
        self.ff.counted(counter, before + 1)
        self.assertEqual(self.ff.counter("upstream_resent"), 1)
        self.assertTrue(self.ff.lines("warn", "upstream server=nas"))
        self.bystander()

    def test_call_instead_of_a_reply(self):
        self.mended(lambda c: Raw(rpc.call(c.xid, rpc.READ)))

    def test_garbage_record(self):
        self.mended(Raw(b"garbage!"))

    def test_empty_record(self):
        self.mended(Raw(b""))

    def test_garbage_stream(self):
        self.mended(Stream(b"\xff" * 4096))

    def test_text(self):
        self.mended(Stream(b"220 mail.example.org ESMTP\r\n"))

    def test_oversized_record(self):
        self.mended(lambda c: Raw(rpc.accepted(
            c.xid, 0, rpc.read_ok(b"o" * (MIB + 16384)))))

    def test_odd_length(self):
        self.mended(lambda c: Raw(rpc.accepted(c.xid) + b"x"))

    def test_too_many_fragments(self):
        self.mended(lambda c: Stream((u32(4) + b"abcd") * 17))

    def test_header_cut_short(self):
        self.mended(lambda c: Raw(rpc.accepted(c.xid)[:16]))

    def test_reply_state_beyond_the_enum(self):
        self.mended(lambda c: Raw(u32(c.xid, 1, 2, 0, 0, 0)))

    def test_verifier_of_4_gib(self):
        self.mended(lambda c: Raw(u32(c.xid, 1, 0, 0, 0xffffffff, 0)))

    def test_half_a_reply_then_closed(self):
        def half(call):
            call.conn.send(u32(rpc.LAST | 1000) + b"half")
            return CLOSE
        self.mended(half, "upstream_disconnects")

    def test_closed_without_a_reply(self):
        self.mended(CLOSE, "upstream_disconnects")


class Xids(daemon.Case):
    settings = {"connections": 1}

    def test_unknown_xid(self):
        def stray(call):
            for delta in (1, 1000, 0x80000000):
                call.reply_raw(rpc.accepted(
                    (call.xid + delta) & 0xffffffff, 0, rpc.read_ok(b"bad!")))
            return None
        client = self.connect()
        self.up.script(rpc.READ, always(stray))
        st, r = client.nfs(rpc.READ, rpc.read_args(VICTIM, 0, 64))
        self.assertEqual((st, r.rest()[16:]), (0, rpc.pattern(0, 64)))
        self.ff.counted("upstream_unknown_xid", 3)
        self.bystander()

    def test_reply_twice(self):
        client = self.connect()
        self.up.script(rpc.READ, always(lambda call: call.reply(
            rpc.read_ok(rpc.pattern(0, 64)))))
        for _ in range(5):
            client.nfs(rpc.READ, rpc.read_args(VICTIM, 0, 64))
        self.ff.counted("upstream_unknown_xid", 5)
        self.bystander()

    def test_out_of_order(self):
        held = []
        self.up.script(rpc.READ, always(
            lambda call: held.append(call) or HOLD))
        client = self.connect()
        for i in range(5):
            client.send(rpc.READ, rpc.read_args(VICTIM, i * 8, 64), xid=i)
        self.up.wait(rpc.READ, 5)
        for i in (3, 0, 4, 1, 2):
            held[i].reply(rpc.read_ok(rpc.pattern(i * 8, 64)))
            reply = client.recv()
            self.assertEqual((reply.xid, reply.body[20:]),
                             (i, rpc.pattern(i * 8, 64)))
        self.bystander()

    def test_clients_with_equal_xids(self):
        held = []
        self.up.script(rpc.READ, always(
            lambda call: held.append(call) or HOLD))
        clients = [self.connect() for _ in range(5)]
        for i, c in enumerate(clients):
            c.send(rpc.READ, rpc.read_args(VICTIM, i * 8, 64), xid=42)
        self.up.wait(rpc.READ, 5)
        self.assertEqual(len({c.xid for c in held}), 5)
        for call in reversed(held):
            r = call.reader()
            r.opaque()
            call.reply(rpc.read_ok(rpc.pattern(r.u64(), 64)))
        for i, c in enumerate(clients):
            reply = c.recv()
            self.assertEqual((reply.xid, reply.body[20:]),
                             (42, rpc.pattern(i * 8, 64)))


class OtherConnection(daemon.Case):
    settings = {"connections": 2}

    def test_reply_over_another_connection_is_none(self):
        """Whoever can answer there need not know the call."""
        client = self.connect()
        poll(lambda: len(self.up.conns) == 2, "two connections")

        def elsewhere(call):
            other = next(c for c in self.up.conns if c is not call.conn)
            other.send(record(rpc.accepted(
                call.xid, 0, rpc.read_ok(b"wrong!!!"))))
            return HOLD
        self.up.script(rpc.READ, always(elsewhere))
        client.send(rpc.READ, rpc.read_args(VICTIM, 0, 64), xid=7)
        call = self.up.wait(rpc.READ)[0]
        self.ff.counted("upstream_unknown_xid", 1)
        call.reply(rpc.read_ok(rpc.pattern(0, 64)))
        reply = client.recv()
        self.assertEqual((reply.xid, reply.body[20:]),
                         (7, rpc.pattern(0, 64)))
        self.bystander()


class Silence(daemon.Case):
    settings = {"connections": 1}

    def test_accept_then_close_is_met_with_a_backoff(self):
        self.up.accept_then_close = True
        self.up.reset_all()
        client = self.connect()
        client.send(rpc.READ, rpc.read_args(offset=8, count=64), xid=9)
        first = len(self.up.accepts)
        end = time.monotonic() + 3
        poll(lambda: time.monotonic() > end, "three seconds", 4)
        connects = len(self.up.accepts) - first
        self.assertGreaterEqual(connects, 2)
        self.assertLessEqual(connects, 12)
        self.assertLess(len(self.ff.lines("warn", "upstream server=nas")), 15)
        self.up.accept_then_close = False
        reply = client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (9, 0))
        self.bystander()

    def test_answers_one_call_and_closes(self):
        """Each connection gets something done, so there is no need to wait,
        and no call is lost."""
        def answer(call):
            call.reply(rpc.read_ok(rpc.pattern(0, 64)))
            return CLOSE
        self.up.script(rpc.READ, always(answer))
        client = self.connect()
        for _ in range(20):
            st, _ = client.nfs(rpc.READ, rpc.read_args(VICTIM, 0, 64))
            self.assertEqual(st, 0)
        self.bystander()

    def test_no_answer_for_a_while(self):
        held = []
        self.up.script(rpc.ACCESS, lambda call: held.append(call) or HOLD)
        clients = [self.connect() for _ in range(10)]
        before = self.ff.rss_kib()
        for c in clients:
            for i in range(500):
                c.send(rpc.ACCESS, rpc.access_args(b"h%d" % i))
        self.up.wait(rpc.ACCESS, 10 * 128)
        self.bystander()
        self.assertLess(self.ff.rss_kib() - before, 40 * 1024)
        self.assertEqual(len(held), 10 * 128)

    @unittest.skipUnless(daemon.SLOW, "takes 60 s (FF_SLOW=1)")
    def test_no_answer_at_all(self):
        """After a minute the call goes out again over a new connection."""
        self.up.script(rpc.READ, once(HOLD))
        client = self.connect(timeout=80)
        st, _ = client.nfs(rpc.READ, rpc.read_args(VICTIM, 0, 64))
        self.assertEqual(st, 0)
        self.assertEqual(len(self.up.accepts), 2)
        self.ff.counted("upstream_timeouts", 1)
        self.bystander()


class PassedOn(daemon.Case):
    """The client hears what the server says."""

    def setUp(self):
        super().setUp()
        self.client = self.connect()

    def test_rpc_errors_of_every_kind(self):
        kinds = [u32(1, 0, 0, 0, n) for n in (1, 3, 4, 5)]
        kinds += [u32(1, 0, 0, 0, 2, 4, 4), u32(1, 1, 0, 3, 4)]
        kinds += [u32(1, 1, 1, n) for n in range(0, 15)]
        for i, words in enumerate(kinds):
            with self.subTest(words=words):
                self.up.script(rpc.READ, always(
                    lambda call: Raw(u32(call.xid) + words)))
                reply = self.client.call(
                    rpc.READ, rpc.read_args(VICTIM), xid=900 + i)
                self.assertEqual(reply.raw, u32(900 + i) + words)
        self.ff.counted("upstream_rpc_errors", len(kinds))
        self.bystander()

    def test_rpc_error_to_a_change_is_not_remembered(self):
        self.up.script(rpc.MKDIR, once(
            lambda call: Raw(rpc.accepted(call.xid, rpc.SYSTEM_ERR))))
        args = rpc.mkdir_args("d", VICTIM)
        self.assertRpcError(self.client.call(rpc.MKDIR, args, xid=5),
                            rpc.SYSTEM_ERR)
        self.assertEqual(
            rpc.status(self.client.call(rpc.MKDIR, args, xid=5)), 0)

    def test_a_verifier_of_the_server(self):
        self.up.script(rpc.READ, always(lambda call: Raw(
            u32(call.xid, 1, 0, rpc.AUTH_SYS) + opaque(b"12345678") + u32(0) +
            rpc.read_ok(b"data"))))
        st, r = self.client.nfs(rpc.READ, rpc.read_args(VICTIM))
        self.assertEqual((st, r.rest()[16:]), (0, b"data"))

    def test_no_nfsacl(self):
        for proc in (0, 1):
            self.assertRpcError(
                self.client.call(proc, opaque(rpc.ROOT) + u32(15),
                                 prog=rpc.ACL), rpc.PROC_UNAVAIL)
        self.up.script(0, lambda call: Raw(
            rpc.accepted(call.xid, rpc.PROG_UNAVAIL)), rpc.ACL)
        self.assertRpcError(self.client.call(0, prog=rpc.ACL),
                            rpc.PROG_UNAVAIL)
        self.bystander()

    def test_jukebox(self):
        self.up.script(rpc.READ, always(u32(rpc.JUKEBOX, 0)))
        self.assertEqual(rpc.status(self.client.call(
            rpc.READ, rpc.read_args(VICTIM))), rpc.JUKEBOX)
        self.up.script(rpc.SETATTR, once(u32(rpc.JUKEBOX) + rpc.NO_WCC))
        args = rpc.setattr_args(VICTIM)
        self.assertEqual(
            rpc.status(self.client.call(rpc.SETATTR, args)), rpc.JUKEBOX)
        # RFC 1813: the client tries again under a new XID.
        self.assertEqual(rpc.status(self.client.call(rpc.SETATTR, args)), 0)
        self.bystander()

    def test_access_that_was_not_asked(self):
        """The client is told of the bits that it asked for, no others."""
        self.up.script(rpc.ACCESS, u32(0, 0, 0x3f))
        reply = self.client.call(rpc.ACCESS, rpc.access_args(VICTIM, 1))
        self.assertEqual(reply.body, u32(0, 0, 1))

    def test_unknown_status(self):
        self.up.script(rpc.GETATTR, always(u32(12345)))
        self.assertEqual(rpc.status(self.client.call(
            rpc.GETATTR, opaque(VICTIM))), 12345)

    def test_write_verifier_changes(self):
        for verf in (b"boot-001", b"boot-002"):
            self.up.script(rpc.WRITE, rpc.write_ok(8, 0, verf))
            self.up.script(rpc.COMMIT, u32(0) + rpc.NO_WCC + verf)
            reply = self.client.call(
                rpc.WRITE, rpc.write_args(b"12345678", stable=0))
            self.assertEqual(reply.body, rpc.write_ok(8, 0, verf))
            reply = self.client.call(rpc.COMMIT, rpc.commit_args())
            self.assertEqual(reply.body[-8:], verf)

    def test_short_write(self):
        self.up.script(rpc.WRITE, rpc.write_ok(3))
        reply = self.client.call(rpc.WRITE, rpc.write_args(b"12345678"))
        self.assertEqual(reply.body, rpc.write_ok(3))

    def test_readdir_of_1_mib(self):
        entries = b"".join(
            u32(1) + u64(i) + opaque("n%05d" % i) + u64(i + 1)
            for i in range(30000))
        results = u32(0, 0) + b"verifier" + entries + u32(0, 1)
        self.assertLess(len(results), MIB)
        self.up.script(rpc.READDIR, always(results))
        reply = self.client.call(
            rpc.READDIR, rpc.readdir_args(VICTIM, count=MIB))
        self.assertEqual(reply.body, results)
        self.bystander()

    def test_readdirplus_of_1_mib(self):
        entries = b"".join(
            u32(1) + u64(i) + opaque("n%05d" % i) + u64(i + 1) +
            rpc.post_op(rpc.fattr()) + u32(1) + opaque(b"h" * 32)
            for i in range(6000))
        results = u32(0, 0) + b"verifier" + entries + u32(0, 1)
        self.assertLess(len(results), MIB)
        self.up.script(rpc.READDIRPLUS, always(results))
        reply = self.client.call(
            rpc.READDIRPLUS, rpc.readdirplus_args(VICTIM, maxcount=MIB))
        self.assertEqual(reply.body, results)


class Mounting(daemon.Case):
    def setUp(self):
        super().setUp()
        self.client = self.connect()

    def mnt(self, *flavors):
        self.up.script(rpc.MNT, u32(0) + opaque(b"export-handle") +
                       u32(len(flavors), *flavors), rpc.MOUNT)
        return self.client.call(rpc.MNT, opaque("/src"), prog=rpc.MOUNT)

    def offered(self, *flavors):
        self.assertEqual(self.mnt(*flavors).body,
                         u32(0) + opaque(b"export-handle") + u32(1, 1))

    def test_krb5_only(self):
        for flavors in ((390003,), (390003, 390004, 390005)):
            self.assertEqual(self.mnt(*flavors).body, u32(rpc.ACCES))
        self.bystander()

    def test_krb5_and_sys(self):
        self.offered(390003, 1)
        self.offered(1, 390003)
        self.offered(390003, 390004, 1, 390005)

    def test_sys_only(self):
        self.offered(1)

    def test_nothing_is_said(self):
        self.offered()

    def test_errors(self):
        self.up.script(rpc.MNT, u32(2), rpc.MOUNT)
        self.assertEqual(rpc.status(self.client.call(
            rpc.MNT, opaque("/nothing"), prog=rpc.MOUNT)), 2)

    def test_fsinfo_is_clamped(self):
        big = 16 * MIB
        tail = u64(1 << 62) + u32(0, 1, 27)
        self.up.script(rpc.FSINFO, u32(0, 0, big, big, 4096, big, big, 512,
                                       big) + tail)
        reply = self.client.call(rpc.FSINFO, opaque(rpc.ROOT))
        self.assertEqual(reply.body, u32(0, 0, MIB, MIB, 4096, MIB, MIB, 512,
                                         MIB) + tail)
        self.bystander()


class Exports(daemon.Case):
    settings = {"exports": "/home /src"}

    def test_list_is_cut(self):
        def link(path, *groups):
            return u32(1) + opaque(path) + \
                b"".join(u32(1) + opaque(g) for g in groups) + u32(0)
        self.up.script(rpc.EXPORT, link("/secret", "*") +
                       link("/home", "a", "b") + link("/homes") +
                       link("/src/sub") + link("/") + u32(0), rpc.MOUNT)
        c = self.connect()
        for _ in range(2):
            reply = c.call(rpc.EXPORT, prog=rpc.MOUNT)
            self.assertEqual(reply.body, link("/home", "a", "b") +
                             link("/src/sub") + u32(0))

    def test_other_paths_are_refused(self):
        c = self.connect()
        for path in ("/", "", "/secret", "/homes", "/home/../secret", "/sr",
                     "home", "/src/..", "//home", "/home\0/x"[:5] + "\0"):
            with self.subTest(path=path):
                self.assertEqual(rpc.status(c.call(
                    rpc.MNT, opaque(path), prog=rpc.MOUNT)), rpc.ACCES)
        for path in ("/home", "/src/sub", "/home/", "/src/..a"):
            with self.subTest(path=path):
                self.assertEqual(rpc.status(c.call(
                    rpc.MNT, opaque(path), prog=rpc.MOUNT)), 0)
        self.assertEqual(len(self.up.seen(rpc.MNT, rpc.MOUNT)), 4)


if __name__ == "__main__":
    daemon.main()
