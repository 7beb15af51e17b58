# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon in front of a file system in memory that a test changes and looks at."""
import time

import daemon
import memfs
import rpc
from daemon import poll
from rpc import opaque

HOUR = 3600


class ChangeCase(daemon.Case):
    settings = {"connections": 1, "prefetch": "off"}

    def setUp(self):
        self.up = memfs.MemServer()
        self.addCleanup(self.up.close)
        self.ff = self.start_daemon(**self.settings)
        self.client = self.connect()
        poll(lambda: self.up.conns, "it is connected")

    # ---- what a client does; each returns what it was told

    def ok(self, proc, args):
        st, r = self.client.nfs(proc, args)
        self.assertEqual(st, 0)
        return r

    def lookup(self, name, dir=rpc.ROOT):
        st, r = self.client.nfs(rpc.LOOKUP, rpc.lookup_args(name, dir))
        return r.opaque() if st == 0 else st

    def attr(self, fh):
        """(mode, nlink, size)"""
        st, r = self.client.nfs(rpc.GETATTR, opaque(fh))
        if st != 0:
            return st
        r.u32()
        mode, nlink = r.u32(), r.u32()
        r.fixed(8)
        return mode, nlink, r.u64()

    def read(self, fh):
        r = self.ok(rpc.READ, rpc.read_args(fh, 0, 8192))
        if r.u32():
            r.fixed(84)
        r.u32(), r.u32()
        return r.opaque()

    def names(self, fh=rpc.ROOT, plus=True):
        proc, args = (rpc.READDIRPLUS, rpc.readdirplus_args(fh)) if plus \
            else (rpc.READDIR, rpc.readdir_args(fh))
        r = self.ok(proc, args)
        if r.u32():
            r.fixed(84)
        r.fixed(8)
        out = set()
        while r.u32():
            r.u64()
            out.add(r.opaque().decode())
            r.u64()
            if plus:
                if r.u32():
                    r.fixed(84)
                if r.u32():
                    r.opaque()
        return out - {".", ".."}

    def enter(self, fh=rpc.ROOT):
        """Asks what a client asks first."""
        self.ok(rpc.GETATTR, opaque(fh))
        self.ok(rpc.PATHCONF, opaque(fh))
        self.ok(rpc.ACCESS, rpc.access_args(fh))

    def counters(self, *names):
        have = self.ff.control("stats")["counters"]
        return tuple(have[n] for n in names)

    # ---- what happens to them

    def restart(self):
        self.ff.kill()
        self.ff.start()
        self.client = self.connect()

    def settle(self):
        """A grain of the server's clock: what is asked now is firm."""
        since = time.monotonic()
        poll(lambda: time.monotonic() > since + 0.03, "a grain is over")

    def refused(self):
        """The server is restarted: it refuses connections, and is back."""
        n = self.ff.counter("upstream_connect_failures")
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > n,
             "it is refused")
        self.up.up()
