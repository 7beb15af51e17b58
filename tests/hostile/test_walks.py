#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks where all is cached: one that asks the server for nothing must not keep
clients from their turns."""
import time

import daemon
import rpc
from rpc import opaque, u32, u64
from test_warm import Warm
from tree import Tree, cookie_of, entry


class Cached(Tree):
    """Directories d0, d1, ... of files, below the root; frozen, so that what a
    walk has seen it need not ask for again."""
    settings = {"consistency": "frozen"}
    dirs, files, size = 3, 1500, 0

    def attr(self, name):
        if name == b"root":
            return rpc.fattr(rpc.DIR, 7)
        number = int(name[1:])
        if name.startswith(b"d"):
            return rpc.fattr(rpc.DIR, 1000 + number)
        return rpc.fattr(rpc.REG, 100000 + number, size=self.size)

    def names(self, name):
        if name == b"root":
            return [b"d%d" % i for i in range(self.dirs)]
        first = int(name[1:]) * self.files
        return [b"f%d" % (first + i) for i in range(self.files)]

    def list(self, call):
        handle, cookie = cookie_of(call)
        name = self.name_of(handle)
        names = self.names(name)
        part = names[cookie:cookie + 120]
        return (u32(0, 1) + self.attr(name) + b"verifier" +
                b"".join(entry(n, cookie + i + 1, self.attr(n))
                         for i, n in enumerate(part)) +
                u32(0, int(cookie + 120 >= len(names))))

    def walk(self, **kw):
        w = Warm(self.ff, **kw)
        self.addCleanup(w.close)
        return w

    def getattr(self):
        with self.ff.connect() as client:
            client.nfs(rpc.GETATTR, opaque(rpc.ROOT))


class Together(Cached):
    """Walks that have all that they need, so that they go on without a call."""
    dirs, files = 8, 500

    def test_without_a_call(self):
        for _ in range(2):
            self.walk(metadata=True).end()
            time.sleep(0.1)  # the listings are firm when a tick has passed
        asked = len(self.up.seen(rpc.READDIRPLUS))
        walks = [self.walk(metadata=True) for _ in range(16)]
        for _ in range(20):
            self.getattr()
            self.assertTrue(self.ff.control("status"))
        for w in walks:
            p = w.end()
            self.assertEqual((p["directories"], p["files"], p["failed"]),
                             (1 + self.dirs, self.dirs * self.files, 0))
        self.assertEqual(len(self.up.seen(rpc.READDIRPLUS)), asked)


class Snapshot(Cached):
    """A server that lists .snapshot, and tells nothing of it."""

    def list(self, call):
        return (u32(0, 1) + self.attr(b"root") + b"verifier" +
                entry(b"f1", 1, self.attr(b"f1")) +
                u32(1) + u64(77) + opaque(b".snapshot") + u64(2) + u32(0, 0) +
                u32(0, 1))

    def test_listed_once(self):
        self.walk(metadata=True).end()
        time.sleep(0.1)  # the listing is firm when a tick has passed
        self.walk(metadata=True).end()
        asked = len(self.up.seen(rpc.READDIRPLUS))
        self.walk(metadata=True).end()
        self.assertEqual(len(self.up.seen(rpc.READDIRPLUS)), asked)


if __name__ == "__main__":
    daemon.main()
