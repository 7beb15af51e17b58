#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The system calls that the shipped unit allows are all that the daemon makes,
and under that filter it does its work."""
import json
import os
import re
import shutil
import unittest

import daemon
import fakeserver
import rpc
import systemd
from daemon import poll

SIZE, PIECE, READS = 1 << 20, 4096, 100000
WINDOW = 64
FH = b"file-handle-0001"
ATTR = rpc.fattr(rpc.REG, 300, size=SIZE, ctime=(5, 7))

# A sanitizer makes calls of its own, so this is about the released build.
RELEASE = os.environ.get("FF_RELEASE")


def getattr_(call):
    fh = call.reader().opaque()
    return rpc.u32(0) + (ATTR if fh == FH else rpc.fattr(rpc.DIR))


def access(call):
    r = call.reader()
    attr = ATTR if r.opaque() == FH else rpc.fattr(rpc.DIR)
    return rpc.u32(0) + rpc.post_op(attr) + rpc.u32(r.u32())


def read(call):
    r = call.reader()
    r.opaque()
    at, n = r.u64(), r.u32()
    n = min(n, SIZE - at)
    return rpc.u32(0) + rpc.post_op(ATTR) + \
        rpc.u32(n, at + n == SIZE) + rpc.opaque(rpc.pattern(at, n))


def missing():
    for program in "systemd-analyze", "strace", "cc":
        if not shutil.which(program):
            return program
    return None


@unittest.skipIf(missing(), "a program is missing: %s" % missing())
class Filter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if RELEASE:
            cls.addClassCleanup(setattr, daemon, "BUILD", daemon.BUILD)
            daemon.BUILD = RELEASE
        cls.allowed = systemd.allowed()

    def start(self, **kw):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        for proc, what in ((rpc.GETATTR, getattr_), (rpc.ACCESS, access),
                           (rpc.READ, read)):
            self.up.script(proc, what)
        ff = systemd.Kept(self.up.port, watchdog_us=60000000,
                          consistency="frozen", **kw)
        self.addCleanup(ff.close)
        return ff.start()

    def fill(self, ff):
        """Data into the cache: the whole file, and that it is on disk."""
        with ff.connect() as c:
            c.nfs(rpc.GETATTR, rpc.opaque(FH))
            c.nfs(rpc.ACCESS, rpc.access_args(FH))
            for at in range(0, SIZE, 65536):
                st, _ = c.nfs(rpc.READ, rpc.read_args(FH, at, 65536))
                self.assertEqual(st, 0)
        poll(lambda: self.on_disk(ff) >= SIZE, "the data is on disk")

    @staticmethod
    def on_disk(ff):
        total = 0
        for folder, _, files in os.walk(ff.top["cache_dir"]):
            total += sum(os.stat(os.path.join(folder, f)).st_blocks * 512
                         for f in files if f.endswith(".seg"))
        return total

    def read_cached(self, ff, n):
        """n READs, WINDOW of them on their way at a time; nothing may be asked
        of the server."""
        before = len(self.up.seen(rpc.READ))
        want = [rpc.pattern(at, PIECE) for at in range(0, SIZE, PIECE)]
        with ff.connect() as c:
            way = {}
            for i in range(n + WINDOW):
                if i < n:
                    k = i % len(want)
                    xid = c.send(rpc.READ,
                                 rpc.read_args(FH, k * PIECE, PIECE))
                    way[xid] = want[k]
                if i >= WINDOW:
                    self.check_read(c.recv(), way)
        self.assertEqual(way, {})
        self.assertEqual(len(self.up.seen(rpc.READ)), before)

    def check_read(self, reply, way):
        self.assertEqual(rpc.status(reply), 0)
        # Status, attributes (22 words), count, eof and length are before it.
        if reply.body[-PIECE:] != way.pop(reply.xid):
            self.fail("wrong bytes")

    def filter(self, action):
        return json.dumps({"allow": systemd.numbers(self.allowed),
                           "action": action})

    def test_reads_of_cached_data_under_the_filter(self):
        ff = self.start(filter_=self.filter(systemd.EPERM))
        self.fill(ff)
        self.read_cached(ff, READS)

    def test_no_call_of_them_is_refused(self):
        # The first refused one would be the daemon's end.
        ff = self.start(filter_=self.filter(systemd.KILL))
        self.fill(ff)
        self.read_cached(ff, READS)
        ff.stop()

    def life(self, ff):
        """All that a daemon does in its life, as far as can be had here."""
        self.fill(ff)
        self.read_cached(ff, 200)
        with ff.connect() as c:
            c.nfs(rpc.LOOKUP, rpc.opaque(rpc.ROOT) + rpc.opaque("name"))
            c.nfs(rpc.CREATE, rpc.opaque(rpc.ROOT) + rpc.opaque("new") +
                  rpc.u32(0) + rpc.u32(0) * 6)
            c.nfs(rpc.READDIR, rpc.opaque(rpc.ROOT) + b"\0" * 16 +
                  rpc.u32(4096))
            c.nfs(rpc.WRITE, rpc.opaque(FH) + rpc.u64(0) +
                  rpc.u32(8, 2) + rpc.opaque(b"written."))
            c.nfs(rpc.COMMIT, rpc.opaque(FH) + rpc.u64(0) + rpc.u32(0))
        for command in "status", "stats", "reorder", "drop":
            ff.control(command)
        self.fill(ff)
        ff.write_config(attr_timeout="5s")
        self.assertIn(": reloaded", ff.hup())

    def test_every_call_that_it_makes_is_allowed(self):
        trace = os.path.join("/tmp", "ff-trace-%d" % os.getpid())
        self.addCleanup(os.unlink, trace)
        ff = self.start(wrap=["strace", "-D", "-f", "-qq", "-A", "-o", trace])
        self.life(ff)
        ff.kill()
        ff.start()
        self.life(ff)
        ff.stop()
        with open(trace, errors="replace") as f:
            made = set(re.findall(r"^\d+ +(\w+)\(", f.read(), re.M))
        self.assertIn("mincore", made)
        self.assertEqual(made - self.allowed, set(),
                         "the unit's filter refuses these")


if __name__ == "__main__":
    daemon.main()
