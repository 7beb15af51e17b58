#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad calls and heavy clients: each gets an RPC error or a closed connection, one
line in the log and a counter, and the others notice nothing."""
import socket

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, record, u32, u64

MIB = 1 << 20
# RFC 1813 wants at least these arguments, for each procedure that has any.
ARGS = {
    rpc.GETATTR: opaque(rpc.ROOT),
    rpc.SETATTR: rpc.setattr_args(),
    rpc.LOOKUP: rpc.lookup_args("name"),
    rpc.ACCESS: rpc.access_args(),
    rpc.READLINK: opaque(rpc.ROOT),
    rpc.READ: rpc.read_args(),
    rpc.WRITE: rpc.write_args(b"12345678"),
    rpc.CREATE: rpc.create_args("name"),
    rpc.MKDIR: rpc.mkdir_args("name"),
    rpc.SYMLINK: rpc.symlink_args("name", "target"),
    rpc.MKNOD: rpc.mknod_args("name"),
    rpc.REMOVE: rpc.dirop("name"),
    rpc.RMDIR: rpc.dirop("name"),
    rpc.RENAME: rpc.rename_args("old", "new"),
    rpc.LINK: rpc.link_args(b"file", "name"),
    rpc.READDIR: rpc.readdir_args(),
    rpc.READDIRPLUS: rpc.readdirplus_args(),
    rpc.FSSTAT: opaque(rpc.ROOT),
    rpc.FSINFO: opaque(rpc.ROOT),
    rpc.PATHCONF: opaque(rpc.ROOT),
    rpc.COMMIT: rpc.commit_args(),
}


class Calls(daemon.Case):
    """Calls that RFC 5531 has an error for; the connection goes on."""

    def setUp(self):
        super().setUp()
        self.bad = self.connect()

    def refused(self, counter, n=1):
        """The last call was counted and logged, went no further, and the
        connection and the others go on."""
        self.ff.counted(counter, n)
        self.assertTrue(self.ff.lines("warn", "svc server=nas"))
        self.assertEqual(rpc.status(
            self.bad.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.bystander()

    def test_rpc_version(self):
        for vers in (0, 1, 3, 0xffffffff):
            reply = self.bad.call(rpc.GETATTR, opaque(rpc.ROOT), rpcvers=vers)
            self.assertFalse(reply.accepted)
            self.assertEqual((reply.stat, reply.detail),
                             (rpc.RPC_MISMATCH, (2, 2)))
        self.refused("calls_bad_rpcvers", 4)

    def test_unknown_program(self):
        for prog in (0, 100000, 100021, 100024, 0xffffffff):
            self.assertRpcError(self.bad.call(0, prog=prog),
                                rpc.PROG_UNAVAIL)
        self.refused("calls_prog_unavail", 5)

    def test_wrong_version(self):
        for prog, vers in ((rpc.NFS, 2), (rpc.NFS, 4), (rpc.NFS, 0),
                           (rpc.MOUNT, 1), (rpc.MOUNT, 2), (rpc.ACL, 2)):
            self.assertRpcError(self.bad.call(0, prog=prog, vers=vers),
                                rpc.PROG_MISMATCH, (3, 3))
        self.refused("calls_prog_mismatch", 6)

    def test_unknown_procedure(self):
        for prog, proc in ((rpc.NFS, 22), (rpc.NFS, 0xffffffff),
                           (rpc.MOUNT, 6), (rpc.ACL, 3)):
            self.assertRpcError(self.bad.call(proc, prog=prog),
                                rpc.PROC_UNAVAIL)
        self.refused("calls_proc_unavail", 4)

    def test_arguments_cut_anywhere(self):
        n = 0
        for proc, args in ARGS.items():
            for cut in range(0, len(args), 4):
                self.bad.send(proc, args[:cut], xid=50000 + n)
                n += 1
        replies = [self.bad.recv() for _ in range(n)]
        for i, reply in enumerate(replies):
            self.assertEqual(reply.xid, 50000 + i)
            self.assertRpcError(reply, rpc.GARBAGE_ARGS)
        self.refused("calls_garbage_args", n)
        self.assertLess(len(self.ff.lines("warn", "svc server=nas")), 20)
        self.assertEqual([c.proc for c in self.up.calls
                          if c.proc not in (rpc.GETATTR, rpc.READ)], [])

    def test_arguments_that_are_garbage(self):
        n = 0
        for proc in ARGS:
            for word in (65, 0xffffffff, 0x80000000):
                self.assertRpcError(
                    self.bad.call(proc, u32(word) * 40), rpc.GARBAGE_ARGS)
                n += 1
        for prog, proc in ((rpc.MOUNT, rpc.MNT), (rpc.MOUNT, rpc.UMNT),
                           (rpc.ACL, 1), (rpc.ACL, 2)):
            for body in (b"", u32(1025) + b"x" * 1028, u32(0xfffffffc)):
                self.assertRpcError(self.bad.call(proc, body, prog=prog),
                                    rpc.GARBAGE_ARGS)
                n += 1
        self.refused("calls_garbage_args", n)

    def test_lengths_out_of_bounds(self):
        cases = {
            "name of 256 bytes": (rpc.LOOKUP, rpc.lookup_args("n" * 256)),
            "name of 4 GiB": (rpc.LOOKUP, opaque(rpc.ROOT) + u32(0xffffffff)),
            "handle of 65 bytes": (rpc.GETATTR, opaque(b"h" * 65)),
            "handle of 4 GiB": (rpc.GETATTR, u32(0xfffffffd) + b"h" * 64),
            "symlink to 4097 bytes":
                (rpc.SYMLINK, rpc.symlink_args("l", "t" * 4097)),
            "WRITE that claims more":
                (rpc.WRITE, opaque(rpc.ROOT) + u64(0) + u32(8, 2) +
                 opaque(b"12345678", claim=12)),
            "WRITE that claims 4 GiB":
                (rpc.WRITE, opaque(rpc.ROOT) + u64(0) + u32(8, 2) +
                 opaque(b"12345678", claim=0xffffffff)),
            "WRITE of more than 1 MiB":
                (rpc.WRITE, rpc.write_args(b"\0" * (MIB + 4))),
        }
        for what, (proc, args) in cases.items():
            with self.subTest(what):
                self.assertRpcError(self.bad.call(proc, args),
                                    rpc.GARBAGE_ARGS)
        self.refused("calls_garbage_args", len(cases))

    def test_longest_that_are_right(self):
        self.assertEqual(rpc.status(self.bad.call(
            rpc.LOOKUP, rpc.lookup_args("n" * 255))), rpc.NOENT)
        self.assertEqual(rpc.status(self.bad.call(
            rpc.GETATTR, opaque(b"h" * 64))), 0)
        self.assertEqual(rpc.status(self.bad.call(
            rpc.SYMLINK, rpc.symlink_args("l", "t" * 4096))), 0)
        self.assertEqual(rpc.status(self.bad.call(
            rpc.WRITE, rpc.write_args(b"w" * MIB))), 0)

    def test_longest_target(self):
        """Linux makes links of 4095 bytes."""
        self.up.script(rpc.READLINK,
                       lambda call: u32(0, 0) + opaque("t" * 4095))
        for _ in range(2):
            r = self.bad.call(rpc.READLINK, opaque(rpc.ROOT))
            self.assertEqual(rpc.status(r), 0)
            self.assertIn(b"t" * 4095, r.body)

    def test_handle_of_no_bytes(self):
        """The server says what such a handle means."""
        self.up.script(rpc.GETATTR, lambda call: u32(10001)
                       if call.reader().opaque() == b"" else None)
        self.assertEqual(
            rpc.status(self.bad.call(rpc.GETATTR, opaque(b""))), 10001)
        self.bystander()

    def test_write_whose_count_differs(self):
        """Refused, or passed on as it came: never mended in silence."""
        args = rpc.write_args(b"12345678", count=4096)
        self.up.script(rpc.WRITE, u32(22) + rpc.NO_WCC)
        reply = self.bad.call(rpc.WRITE, args)
        if reply.stat == rpc.SUCCESS:
            self.assertEqual(rpc.status(reply), 22)
            self.assertEqual(self.up.seen(rpc.WRITE)[0].body, args)
        else:
            self.assertRpcError(reply, rpc.GARBAGE_ARGS)
        self.bystander()

    def test_read_of_4_gib_is_clamped(self):
        st, r = self.bad.nfs(rpc.READ, rpc.read_args(count=0xffffffff))
        self.assertEqual((st, r.u32(), r.u32()), (0, 0, MIB))
        r.u32()
        self.assertEqual(r.opaque(), rpc.pattern(0, MIB))
        self.assertEqual(self.up.seen(rpc.READ)[0].body,
                         rpc.read_args(count=MIB))
        self.bystander()

    def test_readdir_of_4_gib_is_clamped(self):
        huge = 0xffffffff
        self.assertEqual(rpc.status(self.bad.call(
            rpc.READDIR, rpc.readdir_args(count=huge))), 0)
        self.assertEqual(rpc.status(self.bad.call(
            rpc.READDIRPLUS, rpc.readdirplus_args(
                dircount=huge, maxcount=huge))), 0)
        self.assertEqual(self.up.seen(rpc.READDIR)[0].body,
                         rpc.readdir_args(count=MIB))
        self.assertEqual(self.up.seen(rpc.READDIRPLUS)[0].body,
                         rpc.readdirplus_args(dircount=MIB, maxcount=MIB))

    def test_bytes_behind_the_arguments_go_through(self):
        args = opaque(rpc.ROOT) + b"behind!!"
        self.assertEqual(rpc.status(self.bad.call(rpc.GETATTR, args)), 0)
        self.assertEqual(self.up.seen(rpc.GETATTR)[0].body, args)


class Credentials(daemon.Case):
    def setUp(self):
        super().setUp()
        self.bad = self.connect()

    def refused(self, why, **kw):
        before = self.ff.counter("calls_bad_auth")
        self.assertAuthError(
            self.bad.call(rpc.GETATTR, opaque(rpc.ROOT), **kw), why)
        self.ff.counted("calls_bad_auth", before + 1)
        self.assertTrue(self.ff.lines("warn", "svc server=nas"))
        self.assertEqual(self.up.seen(rpc.GETATTR), [])
        self.bystander()

    def malformed(self, body):
        self.refused(rpc.AUTH_BADCRED, cred=(rpc.AUTH_SYS, body))

    def test_more_than_400_bytes(self):
        self.malformed(b"c" * 404)

    def test_claims_4_gib(self):
        raw = u32(6, 0, 2, rpc.NFS, 3, 1, 1, 0xffffffff) + b"\0" * 80
        self.bad.send_raw(record(raw))
        self.assertAuthError(self.bad.recv(), rpc.AUTH_BADCRED)
        self.bystander()

    def test_verifier_of_more_than_400_bytes(self):
        self.refused(rpc.AUTH_BADCRED, verf=(0, b"v" * 404))

    def test_17_groups(self):
        self.malformed(rpc.auth_sys(gids=range(17))[1])

    def test_4_gib_of_groups(self):
        self.malformed(u32(1) + opaque("m") + u32(0, 0, 0xffffffff))

    def test_machine_of_256_bytes(self):
        self.malformed(rpc.auth_sys(machine="m" * 256)[1])

    def test_cut_short(self):
        body = rpc.auth_sys(gids=(1, 2, 3))[1]
        for n in range(0, len(body), 4):
            with self.subTest(bytes=n):
                self.malformed(body[:n])

    def test_bytes_behind(self):
        self.malformed(rpc.auth_sys()[1] + u32(0))

    def test_odd_length(self):
        self.malformed(rpc.auth_sys()[1] + b"x")

    def test_other_flavors(self):
        for flavor in (2, rpc.AUTH_DH, rpc.RPCSEC_GSS, 390003, 0xffffffff):
            with self.subTest(flavor=flavor):
                self.refused(rpc.AUTH_REJECTEDCRED, cred=(flavor, b"body"))

    def test_right_ones_go_through_unchanged(self):
        for cred in (rpc.auth_sys(0, 0), rpc.auth_sys(machine="m" * 255),
                     rpc.auth_sys(machine=""), (rpc.AUTH_NONE, b""),
                     rpc.auth_sys(0xffffffff, 5, range(16), stamp=0)):
            # No cache has an answer to this one.
            reply = self.bad.call(rpc.COMMIT, opaque(rpc.ROOT) +
                                  u32(0, 0, 0), cred=cred)
            self.assertEqual(rpc.status(reply), 0)
            self.assertEqual(self.up.seen(rpc.COMMIT)[-1].cred, cred)


class Load(daemon.Case):
    """Clients that want more than their share."""
    settings = {"connections": 1}

    def test_300_connections(self):
        # The connection that start() made to see whether the daemon listens
        # must not count as one of these.
        self.ff.clients(0)
        held = [self.connect() for _ in range(300)]
        self.ff.counted("connections_closed_idle", 44)
        self.assertTrue(self.ff.lines("warn", "idle", "too many"))
        self.assertLess(len(self.ff.lines("warn", "too many")), 20)
        good = 0
        for c in held:
            try:
                good += rpc.status(c.call(rpc.GETATTR, opaque(rpc.ROOT))) == 0
            except rpc.Closed:
                pass
        self.assertEqual(good, 256)
        for c in held:
            c.close()
        self.ff.clients(0)
        self.bystander()

    def test_1000_calls_pipelined(self):
        c = self.connect()
        for i in range(1000):
            c.send(rpc.READ, rpc.read_args(offset=i * 8, count=512), xid=i)
        self.bystander()
        seen = set()
        for _ in range(1000):
            reply = c.recv()
            r = rpc.Reader(reply.body)
            self.assertEqual((r.u32(), r.u32(), r.u32()), (0, 0, 512))
            r.u32()
            self.assertEqual(r.opaque(), rpc.pattern(reply.xid * 8, 512))
            seen.add(reply.xid)
        self.assertEqual(len(seen), 1000)

    def test_1000_calls_that_the_server_does_not_answer(self):
        held = []
        self.up.script(rpc.ACCESS, lambda call: held.append(call) or HOLD)
        c = self.connect()
        for i in range(1000):
            c.send(rpc.ACCESS, rpc.access_args(b"h%d" % i), xid=i)
        self.up.wait(rpc.ACCESS, 128)
        poll(lambda: self.ff.counter("reads_stopped"), "it stops reading")
        self.assertEqual(self.ff.control("status")["clients"][0]["in_flight"],
                         128)
        self.assertEqual(len(held), 128)
        self.bystander()
        self.up.script(rpc.ACCESS, lambda call: u32(0, 0, 1))
        for call in held:
            call.reply(u32(0, 0, 1))
        self.assertEqual({c.recv().xid for _ in range(1000)},
                         set(range(1000)))

    def test_100_mib_of_replies_never_read(self):
        before = self.ff.rss_kib()
        c = self.connect(rcvbuf=65536)
        for i in range(100):
            c.send(rpc.READ, rpc.read_args(offset=i * MIB, count=MIB), xid=i)
        poll(lambda: self.ff.counter("reads_stopped"), "it stops reading")
        self.bystander()
        grown = self.ff.rss_kib() - before
        self.assertLess(grown, 100 * 1024, "%d KiB" % grown)
        for i in range(100):
            reply = c.recv()
            self.assertEqual(reply.body[20:],
                             rpc.pattern(reply.xid * MIB, MIB))
        self.bystander()

    def test_small_replies_never_read_pin_no_large_buffers(self):
        """A reply of 1 KiB must not keep the buffer of 1 MiB that it came
        in."""
        lazy = self.connect(rcvbuf=4096)
        greedy = self.connect()
        before = self.ff.rss_kib()
        self.up.script(rpc.READ, lambda call: rpc.read_ok(b"s" * 1200)
                       if call.reader().opaque() == b"small" else None)
        n = 0
        while n < 4000: # more than the sockets between hold
            for _ in range(100):
                lazy.send(rpc.READ, rpc.read_args(b"small", 0, 1200))
            n += 100
            self.up.wait(rpc.READ, n)
        for i in range(150):
            lazy.send(rpc.READ, rpc.read_args(b"small", 0, 1200))
            greedy.nfs(rpc.READ, rpc.read_args(offset=i * 8, count=MIB))
        grown = self.ff.rss_kib() - before
        self.assertLess(grown, 64 * 1024, "%d KiB" % grown)
        self.bystander()

    def test_calls_of_clients_that_left_are_forgotten(self):
        """The server takes them and answers nothing."""
        self.up.script(rpc.ACCESS, HOLD)
        self.up.script(rpc.WRITE, HOLD)
        before = self.ff.rss_kib()
        for n in range(1, 11):
            c = self.ff.connect()
            for i in range(16):
                c.send(rpc.WRITE, rpc.write_args(b"w" * MIB))
            for i in range(100):
                c.send(rpc.ACCESS, rpc.access_args(b"h%d" % i))
            # These go over different connections, in no order.
            self.up.wait(rpc.WRITE, n * 16)
            self.up.wait(rpc.ACCESS, n * 100)
            c.abort()
            self.ff.clients(0)
        # Of the WRITEs, which were sent, the caches must know the end.
        self.assertEqual(
            self.ff.control("status")["upstreams"][0]["in_flight"], 160)
        grown = self.ff.rss_kib() - before
        self.assertLess(grown, 100 * 1024, "%d KiB" % grown)
        for call in self.up.seen(rpc.ACCESS):
            call.reply(u32(0, 0, 1))
        self.ff.counted("upstream_unknown_xid", 1000)
        self.bystander()

    def test_full_connection_closes_while_the_server_is_away(self):
        """Reading has stopped, and yet its end is noticed: the changes that
        were not sent are dropped."""
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures"), "refused")
        c = self.connect()
        for i in range(200):
            c.send(rpc.MKDIR, rpc.mkdir_args("d%d" % i))
        poll(lambda: self.ff.counter("reads_stopped"), "it stops reading")
        self.bystander_null()
        c.abort()
        self.ff.clients(0)
        self.ff.counted("changes_dropped_unsent", 128)
        self.up.up()
        poll(lambda: self.up.accepts, "it connects again")
        self.bystander()
        self.assertEqual(self.up.seen(rpc.MKDIR), [])

    def bystander_null(self):
        with self.ff.connect() as c:
            self.assertRpcError(c.call(rpc.NULL), rpc.SUCCESS)


class Networks(daemon.Case):
    settings = {"allow": "127.0.0.1/32"}

    def test_address_outside_of_allow(self):
        c = self.connect(source="127.0.0.2")
        self.assertTrue(c.is_closed())
        self.ff.counted("connections_refused_allow", 1)
        self.assertTrue(self.ff.lines("warn", "127.0.0.2", "`allow`"))
        for _ in range(30):
            self.ff.connect(source="127.0.0.2").close()
        self.ff.counted("connections_refused_allow", 31)
        self.assertLess(len(self.ff.lines("warn", "`allow`")), 15)
        self.bystander()


class Secure(daemon.Case):
    settings = {"secure": "yes"}

    def test_high_port(self):
        # The last of those that looked whether it listens may yet be counted.
        refused = self.ff.probes
        self.ff.counted("connections_refused_secure", refused)
        c = self.connect()
        self.assertTrue(c.is_closed())
        self.ff.counted("connections_refused_secure", refused + 1)
        self.assertTrue(self.ff.lines("warn", "`secure`"))

    def test_reserved_port(self):
        for port in range(1000, 700, -1):
            try:
                s = socket.create_connection(
                    ("127.0.0.1", self.ff.port), 10, ("", port))
                break
            except PermissionError:
                self.skipTest("may not bind a port below 1024")
            except OSError:
                continue
        c = rpc.Client.__new__(rpc.Client)
        c.sock = s
        self.addCleanup(s.close)
        self.assertEqual(
            rpc.status(c.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)


if __name__ == "__main__":
    daemon.main()
