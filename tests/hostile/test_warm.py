#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetch warm before a server that lies, loops, refuses or is silent, and
for programs that go away in the middle of it."""
import socket
import struct
import time
import unittest

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32, u64

BAD_COOKIE, ACCES = 10003, 13


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, data):
    """Of protobuf: bytes, or a number."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    out, i = {}, 0

    def take():
        nonlocal i
        n = shift = 0
        while True:
            n |= (data[i] & 127) << shift
            shift += 7
            i += 1
            if data[i - 1] < 128:
                return n
    while i < len(data):
        tag = take()
        n = take()
        if tag & 7 == 2:
            out[tag >> 3] = data[i:i + n]
            i += n
        else:
            out[tag >> 3] = n
    return out


NAMES = {1: "done", 2: "status", 5: "directories", 6: "files", 7: "others",
         8: "file_bytes", 10: "calls", 11: "refused", 12: "failed",
         13: "left"}


class Warm:
    """A connection that has begun a walk."""

    def __init__(self, ff, path=b"", metadata=False):
        self.sock = socket.socket(socket.AF_UNIX)
        # The file is there a moment before somebody listens.
        poll(lambda: self.sock.connect_ex(ff.socket) == 0, "control")
        place = (field(1, b"127.0.0.1:%d" % ff.port) + field(2, b"/srv") +
                 field(3, path))
        self.first = self.ask(field(1, place) + field(2, int(metadata)))

    def ask(self, body=b""):
        req = field(1, 1) + field(19, body)
        self.sock.sendall(struct.pack(">I", len(req)) + req)
        n, = struct.unpack(">I", self.take(4))
        res = fields(self.take(n))
        if 19 not in res:
            return {"error": fields(res[15])[1]}
        got = fields(res[19])
        return {name: got.get(n, 0) for n, name in NAMES.items()}

    def take(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def end(self):
        return poll(lambda: self.finished(), "the walk ends")

    def finished(self):
        p = self.ask()
        return p if p["done"] else None

    def close(self):
        self.sock.close()


def fh(name):
    return b"fh-" + name.ljust(13, b".")


def entry(name, cookie, attr, handle=True):
    out = u32(1) + u64(cookie + 1000) + opaque(name) + u64(cookie)
    out += u32(1) + attr
    return out + (u32(1) + opaque(fh(name)) if handle else u32(0))


def page(entries, eof=True):
    return (u32(0, 1) + rpc.fattr(rpc.DIR) + b"verifier" + b"".join(entries) +
            u32(0, int(eof)))


def cookie_of(call):
    r = call.reader()
    return r.opaque(), r.u64()


class Tree(daemon.Case):
    settings = {"offline": "serve"}
    size = 100000

    def setUp(self):
        super().setUp()
        self.warms = []
        self.up.script(rpc.ACCESS, self.access)
        self.up.script(rpc.READDIRPLUS, self.list)
        self.up.script(rpc.READ, self.read)

    def tearDown(self):
        for w in self.warms:
            w.close()
        self.bystander_alive()

    def bystander_alive(self):
        with self.ff.connect() as c:
            st, _ = c.nfs(rpc.GETATTR, opaque(rpc.ROOT))
            self.assertEqual(st, 0)

    def warm(self, *args, **kw):
        w = Warm(self.ff, *args, **kw)
        self.warms.append(w)
        return w

    def attr(self, name):
        if name.startswith(b"dir") or name == b"root":
            return rpc.fattr(rpc.DIR, 7)
        kind = rpc.LNK if name.startswith(b"link") else rpc.REG
        return rpc.fattr(kind, 300 + len(name), size=self.size)

    def name_of(self, handle):
        return b"root" if handle == rpc.ROOT else handle[3:].rstrip(b".")

    def access(self, call):
        r = call.reader()
        handle = r.opaque()
        return u32(0, 1) + self.attr(self.name_of(handle)) + u32(r.u32())

    def list(self, call):
        """Two pages for the root; one directory with a file."""
        handle, cookie = cookie_of(call)
        if handle != rpc.ROOT:
            return page([entry(b"inner", 1, self.attr(b"inner"))])
        if cookie == 0:
            return page([entry(b".", 1, self.attr(b"dir")),
                         entry(b"..", 2, self.attr(b"dir")),
                         entry(b"dir", 3, self.attr(b"dir"))], False)
        return page([entry(b"file", 4, self.attr(b"file")),
                     entry(b"link", 5, self.attr(b"link")),
                     entry(b".snapshot", 6, self.attr(b"dir"))])

    def read(self, call):
        """Never more than half of what was asked for."""
        r = call.reader()
        name = self.name_of(r.opaque())
        offset, count = r.u64(), r.u32()
        if name == b"root":
            return None
        n = min((count + 1) // 2, self.size - offset)
        return (u32(0, 1) + self.attr(name) +
                u32(n, int(offset + n == self.size)) +
                opaque(rpc.pattern(offset, n)))

    def test_tree(self):
        p = self.warm().end()
        self.assertEqual((p["directories"], p["files"], p["others"]), (2, 2, 1))
        self.assertEqual(p["file_bytes"], 2 * self.size)
        self.assertEqual((p["refused"], p["failed"], p["status"]), (0, 0, 0))
        reads = len(self.up.seen(rpc.READ))
        poll(lambda: self.ff.control("stats")["gauges"]["data_live_bytes"] ==
             2 * self.size, "all of it is cached")
        time.sleep(0.05)  # so that a tick has passed
        p = self.warm().end()
        self.assertEqual(p["files"], 2)
        again = len(self.up.seen(rpc.READ)) - reads
        self.assertLessEqual(again, reads)

    def test_metadata(self):
        p = self.warm(metadata=True).end()
        self.assertEqual((p["files"], p["failed"]), (2, 0))
        self.assertEqual(self.up.seen(rpc.READ), [])

    def test_refused_data(self):
        self.up.script(rpc.READ, u32(ACCES, 0))
        p = self.warm().end()
        self.assertEqual((p["refused"], p["failed"]), (2, 0))
        self.up.script(rpc.READ, self.read)

    def test_refused_listing(self):
        self.up.script(rpc.READDIRPLUS, u32(ACCES, 0))
        p = self.warm().end()
        self.assertEqual((p["refused"], p["directories"]), (1, 0))

    def test_malformed(self):
        good = page([entry(b"file", 4, self.attr(b"file"))])
        for bad in (good[:60], u32(0), b"", good[:-8] + u32(7, 7),
                    page([entry(b"x" * 300, 1, self.attr(b"file"))])):
            self.up.script(rpc.READDIRPLUS, bad)
            p = self.warm().end()
            self.assertEqual((p["failed"], p["files"]), (1, 0), bad)
            self.assertEqual(self.ff.control("flush")["name"], "nas")

    def test_no_handles(self):
        """Entries without handles are looked up, and may be gone."""
        self.up.make(b"named", rpc.REG)
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"named", 1, self.attr(b"file"), False),
             entry(b"gone", 2, self.attr(b"file"), False)]))
        p = self.warm(metadata=True).end()
        self.assertEqual((p["files"], p["failed"]), (1, 0))

    def test_bad_cookies(self):
        """A listing that cannot go on is begun anew, but not for ever."""
        self.up.script(rpc.READDIRPLUS, lambda c: (
            page([entry(b"link", 3, self.attr(b"link"))], False)
            if cookie_of(c)[1] == 0 else u32(BAD_COOKIE, 0)))
        p = self.warm().end()
        self.assertEqual(p["failed"], 1)
        self.assertLess(p["calls"], 40)

    def test_same_cookie(self):
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"link", 3, self.attr(b"link"))], False))
        p = self.warm().end()
        self.assertLess(p["calls"], 10)

    def test_loop(self):
        """A directory that holds itself, twice: until the program goes."""
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"dir", 1, self.attr(b"dir")),
             entry(b"dir2", 2, self.attr(b"dir"))]))
        w = self.warm()
        self.up.wait(rpc.READDIRPLUS, 100)
        self.assertFalse(w.ask()["done"])
        self.assertLess(w.ask()["left"], 65537)
        w.close()
        before = [-1]

        def quiet():
            n = len(self.up.calls)
            same = n == before[0]
            before[0] = n
            time.sleep(0.1)
            return same
        poll(quiet, "the calls end")

    def test_late_reply(self):
        """The program is gone when its walk's calls are answered."""
        self.up.script(rpc.READDIRPLUS, HOLD)
        w = self.warm()
        call = self.up.wait(rpc.READDIRPLUS, 1)[0]
        w.close()
        poll(lambda: not self.ff.control("status")["clients"],
             "nobody is connected")
        call.reply(self.list(call))
        self.up.script(rpc.READDIRPLUS, self.list)
        self.assertEqual(self.warm().end()["files"], 2)

    def test_another_begins(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        w = self.warm()
        held = self.up.wait(rpc.READDIRPLUS, 1)[0]
        place = (field(1, b"127.0.0.1:%d" % self.ff.port) +
                 field(2, b"/srv") + field(3, b"nothing"))
        w.ask(field(1, place))
        held.reply(self.list(held))
        p = w.end()
        self.assertEqual(p["status"], rpc.NOENT)

    def test_reload_and_flush(self):
        calls = []

        def hold(call):
            calls.append(call)
            return HOLD
        self.up.script(rpc.READ, hold)
        w = self.warm()
        self.up.wait(rpc.READ, 1)
        self.ff.write_config(attr_timeout="5s")
        self.assertIn("reloaded", self.ff.hup())
        self.ff.control("flush")
        self.up.script(rpc.READ, self.read)
        for call in calls:
            call.reply(self.read(call))
        p = w.end()
        self.assertEqual((p["files"], p["failed"]), (2, 0))

    def test_stop(self):
        self.up.script(rpc.READ, HOLD)
        self.warm()
        self.up.wait(rpc.READ, 1)
        self.ff.stop()
        self.up.script(rpc.READ, self.read)
        self.ff.start()

    def test_too_many(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        got = [self.warm() for _ in range(33)]
        self.assertEqual(got[32].first, {"error": 5})
        got[0].close()
        poll(lambda: "error" not in self.warm().first, "there is room again")


if __name__ == "__main__":
    daemon.main()
