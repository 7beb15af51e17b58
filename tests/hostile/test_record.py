#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad records and cut connections: each gets a closed connection, one line in the
log and a counter, and the others notice nothing."""
import socket
import unittest

import daemon
import rpc
from fakeserver import HOLD
from rpc import opaque, record, u32

MIB = 1 << 20


class Records(daemon.Case):
    """The stream is no sequence of RPC calls: the connection closes."""

    def closed(self, data, why, counter="connections_closed_bad_record"):
        before = self.ff.counter(counter)
        good = self.connect()
        bad = self.connect()
        try:
            bad.send_raw(data)
        except rpc.Closed:
            pass
        self.assertTrue(bad.is_closed(), "still open")
        self.ff.counted(counter, before + 1)
        self.assertTrue(self.ff.lines("warn", "closed", why), self.ff.log())
        st, _ = good.nfs(rpc.GETATTR, opaque(rpc.ROOT))
        self.assertEqual(st, 0)
        self.bystander()

    def test_http(self):
        self.closed(b"GET / HTTP/1.1\r\nHost: proxy\r\n\r\n", "too long")

    def test_zeros(self):
        self.closed(b"\0" * 4096, "too many fragments")

    def test_ones(self):
        self.closed(b"\xff" * 4096, "too long")

    def test_claims_too_much(self):
        self.closed(u32(rpc.LAST | (rpc.RECORD_MAX + 4)), "too long")

    def test_fragments_add_up_to_too_much(self):
        half = b"\0" * (rpc.RECORD_MAX // 2 + 4)
        self.closed(u32(len(half)) + half + u32(rpc.LAST | len(half)),
                    "too long")

    def test_17_fragments(self):
        body = rpc.call(1, rpc.NULL)
        parts = [body[:4]] * 16 + [body]
        self.closed(record(*parts), "too many fragments")

    def test_empty_fragments_for_ever(self):
        self.closed(u32(0) * 100, "too many fragments")

    def test_tiny_fragments_for_ever(self):
        self.closed((u32(1) + b"x") * 10000, "too many fragments")

    def test_odd_length(self):
        self.closed(record(rpc.call(1, rpc.NULL) + b"x"), "multiple of four")

    def test_empty_record(self):
        self.closed(record(b""), "not an RPC call", "records_bad")

    def test_reply_instead_of_a_call(self):
        self.closed(record(rpc.accepted(5)), "not an RPC call", "records_bad")

    def test_neither_call_nor_reply(self):
        self.closed(record(u32(5, 2, 2, rpc.NFS, 3, 0, 0, 0, 0, 0)),
                    "not an RPC call", "records_bad")

    def test_header_cut_short(self):
        for n in (0, 4, 8, 12, 16, 20):
            with self.subTest(bytes=n):
                self.closed(record(rpc.call(1, rpc.NULL)[:n]), "not an RPC call",
                            "records_bad")

    def test_good_call_before_garbage_does_no_harm(self):
        self.closed(record(rpc.call(9, rpc.GETATTR, opaque(rpc.ROOT))) +
                    b"\xff" * 64, "too long")

    def test_log_is_rate_limited(self):
        before = self.ff.counter("connections_closed_bad_record")
        for _ in range(60):
            with self.ff.connect() as c:
                c.send_raw(b"\xff" * 8)
                self.assertTrue(c.is_closed())
        self.ff.counted("connections_closed_bad_record", before + 60)
        self.assertLess(len(self.ff.lines("warn", "closed")), 30)
        self.bystander()


class Fragments(daemon.Case):
    """Odd but right: it works."""

    def test_16_fragments(self):
        body = rpc.call(77, rpc.GETATTR, opaque(rpc.ROOT))
        parts = [body[i * 4:i * 4 + 4] for i in range(15)] + [body[60:]]
        c = self.connect()
        c.send_raw(record(*parts))
        reply = c.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (77, 0))

    def test_fragments_of_odd_length(self):
        body = rpc.call(78, rpc.LOOKUP, rpc.lookup_args("nothing"))
        c = self.connect()
        c.send_raw(record(body[:3], b"", body[3:50], body[50:]))
        self.assertEqual(rpc.status(c.recv()), rpc.NOENT)

    def test_byte_by_byte(self):
        c = self.connect()
        data = record(rpc.call(79, rpc.GETATTR, opaque(rpc.ROOT)))
        for i in range(len(data)):
            c.send_raw(data[i:i + 1])
        self.assertEqual(rpc.status(c.recv()), 0)

    def test_large_write_in_fragments(self):
        data = bytes(range(256)) * 4096
        body = rpc.call(80, rpc.WRITE, rpc.write_args(data))
        c = self.connect()
        c.send_raw(record(*[body[i:i + 70001]
                            for i in range(0, len(body), 70001)]))
        self.assertEqual(rpc.status(c.recv()), 0)
        self.assertEqual(self.up.wait(rpc.WRITE)[0].body,
                         rpc.write_args(data))


class Cut(daemon.Case):
    """Connections that end in the middle of something."""

    def test_at_every_byte_of_a_call(self):
        data = record(rpc.call(3, rpc.MKDIR, rpc.mkdir_args("cut")))
        for n in range(0, len(data)):
            c = self.ff.connect()
            c.send_raw(data[:n])
            c.abort() if n % 2 else c.close()
        self.ff.clients(0)
        self.assertEqual(self.up.seen(rpc.MKDIR), [])
        self.bystander()

    def test_half_a_large_record(self):
        before = self.ff.rss_kib()
        held = []
        for _ in range(50):
            c = self.connect()
            c.send_raw(u32(rpc.LAST | MIB) + b"\0" * 1000)
            held.append(c)
        self.ff.clients(50)
        self.assertLess(self.ff.rss_kib() - before, 50 * 1024)
        self.bystander()
        for c in held:
            c.close()
        self.ff.clients(0)

    @unittest.skipUnless(daemon.SLOW, "takes 30 s (FF_SLOW=1)")
    def test_half_a_record_is_given_up(self):
        c = self.connect(timeout=40)
        c.send_raw(u32(rpc.LAST | 1000) + b"\0" * 10)
        self.assertTrue(c.is_closed())
        self.ff.counted("connections_closed_slow_record", 1)
        self.assertTrue(self.ff.lines("warn", "took too long"))
        self.bystander()

    def test_while_calls_are_in_flight(self):
        held = []

        def hold(call):
            if call.reader().opaque() != b"held":
                return None
            held.append(call)
            return HOLD
        self.up.script(rpc.READ, hold)
        for _ in range(10):
            c = self.ff.connect()
            for i in range(20):
                c.send(rpc.READ, rpc.read_args(b"held", i * 8, 65536))
            c.abort()
        self.ff.clients(0)
        self.bystander()
        for call in held:
            call.reply(rpc.read_ok(b"x" * 65536))
        self.bystander()

    def test_while_replies_are_being_sent(self):
        for _ in range(10):
            c = self.ff.connect(rcvbuf=4096)
            for i in range(8):
                c.send(rpc.READ, rpc.read_args(count=MIB, offset=i * MIB))
            c.exactly(1000)
            c.abort()
        self.ff.clients(0)
        self.bystander()

    def test_shutdown_of_one_side(self):
        c = self.connect()
        c.send(rpc.GETATTR, opaque(rpc.ROOT))
        c.sock.shutdown(socket.SHUT_WR)
        self.assertTrue(c.is_closed())
        self.bystander()


if __name__ == "__main__":
    daemon.main()
