#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every count, size, offset and cookie that a client may choose in its
arguments, at its extremes, asked of the server and answered from the caches:
what comes back is well-formed and no more than was asked for, or an error."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import memfs
import rpc
from rpc import opaque, post_op, u32, u64

MIB = 1 << 20
FBIG, TOOSMALL, BAD_COOKIE = 27, 10005, 10003
COUNTS = (0, 1, 3, 4, 100, 512, 4095, 4096, 65536, MIB - 1, MIB, MIB + 1,
          MIB + 8192, 3 * MIB, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 8, 2 ** 32 - 1)
OFFSETS = (0, 5, 2 ** 31, 2 ** 32 - 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - MIB,
           2 ** 64 - 1)
SIZE = 2 * MIB + 5
NAMES = [b"a-name-of-some-length-%06d" % i for i in range(24000)]
DATA = os.urandom(SIZE)


class Server(memfs.MemServer):
    """Its directory "d" has many names, all of one file; it keeps to the
    counts of those who ask, as a server must."""

    def __init__(self):
        super().__init__()
        self.make("d", rpc.DIR, age=3600)
        self.make("f", rpc.REG, data=DATA, age=3600)
        self.entries_of = [self.encoded(plus) for plus in (False, True)]

    def encoded(self, plus):
        node = self.node("f")
        tail = post_op(node.attr()) + u32(1) + opaque(node.fh) if plus else b""
        return [u32(1) + u64(node.fileid) + opaque(name) + u64(i + 1) + tail
                for i, name in enumerate(NAMES)]

    def lookup(self, call, r):
        d, name = self.at(r.opaque(), True), r.opaque()
        node = d.names.get(name) or self.node("f")
        return u32(0) + opaque(node.fh) + post_op(node.attr()) + \
            post_op(d.attr())

    def readdir(self, call, r, plus=False):
        d, cookie, _ = self.at(r.opaque(), True), r.u64(), r.fixed(8)
        if plus:
            r.u32()
        room = min(r.u32(), MIB) - 100 - 8
        if cookie > len(NAMES):
            raise memfs.Failed(BAD_COOKIE)
        out = []
        for entry in self.entries_of[plus][cookie:]:
            room -= len(entry)
            if room < 0:
                break
            out.append(entry)
        end = cookie + len(out) == len(NAMES)
        if room < 0 and not out:
            raise memfs.Failed(TOOSMALL)
        return u32(0) + post_op(d.attr()) + b"\0" * 8 + b"".join(out) + \
            u32(0, end)

    def read(self, call, r):
        fh, first, count = r.opaque(), r.u64(), min(r.u32(), MIB)
        return super().read(
            call, rpc.Reader(opaque(fh) + u64(first) + u32(count)))

    def write(self, call, r):
        fh, first, count, stable = r.opaque(), r.u64(), r.u32(), r.u32()
        data = r.opaque()
        if first + count > 4 * MIB:
            raise memfs.Failed(FBIG)
        return super().write(call, rpc.Reader(
            opaque(fh) + u64(first) + u32(min(count, len(data)), stable) +
            opaque(data)))

    def set(self, node, asked):
        if asked.get("size", 0) > 4 * MIB:
            raise memfs.Failed(FBIG)
        super().set(node, asked)


class Counts(daemon.Case):
    settings = {"prefetch": "off", "consistency": "frozen"}

    def setUp(self):
        self.up = Server()
        self.addCleanup(self.up.close)
        self.ff = self.start_daemon(**self.settings)
        self.client = self.connect(timeout=30)
        self.f, self.d = (self.up.node(x).fh for x in "fd")
        for fh in (self.f, self.d):
            self.client.nfs(rpc.ACCESS, rpc.access_args(fh))

    def asked(self):
        return len(self.up.calls)

    def skip_attr(self, r):
        if r.u32():
            r.fixed(84)

    def ask(self, proc, args):
        """(status, Reader behind the status); a status has results."""
        reply = self.client.call(proc, args)
        self.assertEqual((reply.accepted, reply.stat), (True, 0), reply[:5])
        self.assertGreaterEqual(len(reply.body), 4, (proc, args[-20:]))
        r = rpc.Reader(reply.body)
        return r.u32(), r

    # ---- READ

    def read(self, offset, count):
        st, r = self.ask(rpc.READ, rpc.read_args(self.f, offset, count))
        self.skip_attr(r)
        if st == 0:
            got, eof, data = r.u32(), r.u32(), r.opaque()
            self.assertEqual(len(data), got)
            self.assertLessEqual(got, min(count, MIB))
            self.assertEqual(data, DATA[offset:offset + got])
            self.assertEqual(bool(eof), offset + got >= SIZE)
            self.assertTrue(got > 0 or count == 0 or eof)
        self.assertEqual(len(r.rest()), 0)

    def read_all(self):
        for offset in OFFSETS + (SIZE - 1, SIZE, SIZE + 1):
            for count in COUNTS:
                with self.subTest(offset=offset, count=count):
                    self.read(offset, count)

    def test_read(self):
        self.read_all()
        for offset in range(0, SIZE, MIB):
            self.read(offset, MIB)
        before = self.asked()
        self.read_all()
        self.assertEqual(self.asked(), before)  # all of it was cached

    # ---- READDIR, READDIRPLUS

    def page(self, plus, cookie, room, dir_room=2 ** 32 - 1):
        """The cookie behind the page; None at its end, or after an error."""
        if plus:
            st, r = self.ask(rpc.READDIRPLUS, rpc.readdirplus_args(
                self.d, cookie, dir_room, room))
        else:
            st, r = self.ask(rpc.READDIR,
                             rpc.readdir_args(self.d, cookie, room))
        if st == 0:
            self.assertLessEqual(len(r.data) - r.pos, room)
        self.skip_attr(r)
        if st != 0:
            self.assertEqual(r.rest(), b"")
            self.assertIn(st, (TOOSMALL, BAD_COOKIE))
            return None
        r.fixed(8)
        n, end = divmod(len(r.rest()) - 8, len(self.up.entries_of[plus][0]))
        eof = cookie + n == len(NAMES)
        self.assertEqual(end, 0)
        self.assertTrue(eof or n > 0)
        self.assertTrue(r.rest() == b"".join(
            self.up.entries_of[plus][cookie:cookie + n]) + u32(0, eof))
        return None if eof else cookie + n

    def pages(self, plus):
        for cookie in (0, 7, len(NAMES) - 3, len(NAMES), len(NAMES) + 1,
                       2 ** 31, 2 ** 64 - 1):
            for room in COUNTS:
                with self.subTest(plus=plus, cookie=cookie, room=room):
                    self.page(plus, cookie, room)
        for dir_room in COUNTS if plus else ():
            for room in (4096, MIB, 2 ** 32 - 1):
                with self.subTest(dir_room=dir_room, room=room):
                    self.page(True, 0, room, dir_room)

    def test_list(self):
        for plus in (False, True):
            self.pages(plus)
            cookie = 0
            while cookie is not None:
                cookie = self.page(plus, cookie, MIB)
            before = self.asked()
            for room in (MIB, MIB + 8, 2 * MIB, 2 ** 32 - 1):
                self.page(plus, 0, room)
            self.assertEqual(self.asked(), before)  # from the listing
            self.pages(plus)

    # ---- changes, and what else has numbers in it

    def test_write(self):
        """A count that is not that of the data is the server's to judge."""
        for offset in OFFSETS:
            for count in COUNTS:
                for data in (b"", b"0123456789"):
                    reply = self.client.call(rpc.WRITE, rpc.write_args(
                        data, self.f, offset, count))
                    self.assertTrue(reply.accepted)
                    if reply.stat == 0:
                        self.assertIn(rpc.status(reply), (0, FBIG))
        st, r = self.ask(rpc.WRITE, rpc.write_args(bytes(MIB), self.f))
        self.assertEqual((st, r.data[-16:-12]), (0, u32(MIB)))

    def test_sizes_and_ranges(self):
        for n in OFFSETS:
            for count in (0, MIB, 2 ** 32 - 1):
                st, _ = self.ask(rpc.COMMIT, opaque(self.f) + u64(n) +
                                 u32(count))
                self.assertEqual(st, 0)
            st, _ = self.ask(rpc.SETATTR, rpc.setattr_args(
                self.f, rpc.sattr(size=n)))
            self.assertEqual(st, 0 if n < 4 * MIB else FBIG)
        st, r = self.ask(rpc.ACCESS, rpc.access_args(self.f, 2 ** 32 - 1))
        self.assertEqual(st, 0)


if __name__ == "__main__":
    daemon.main()
