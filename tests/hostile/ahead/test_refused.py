#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls ahead are such as the server answers: nobody lists a file, reads a
directory or looks up names in a file because others do so nearby; and what the
server refuses all the same is not asked for again and again."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from rpc import auth_sys, opaque, u32
from tree import Tree, cookie_of, entry, fh, page

DIRS, FILES = 4, 20
NOTDIR, ISDIR = 20, 21


class Mixed(Tree):
    """Three users look at files, read them and list their directories, all
    mixed, while what is known grows old within moments."""
    settings = {"attr_timeout": "100ms"}
    size = 8192
    closed = False  # every second file may be read by nobody

    def setUp(self):
        super().setUp()
        self.refused = []
        self.up.script(rpc.LOOKUP, self.lookup)
        self.clients = []
        for uid in (0, 1000, 1001):
            self.clients.append((self.connect(), auth_sys(uid=uid, gid=uid)))

    # ---- the server

    def is_dir(self, name):
        return name == b"root" or name.startswith(b"d")

    def attr(self, name):
        if name == b"root":
            return rpc.fattr(rpc.DIR, 7)
        number = 10 + int(name[1:])
        if self.is_dir(name):
            return rpc.fattr(rpc.DIR, 1000 + number)
        return rpc.fattr(rpc.REG, 100000 + number, size=self.size)

    def refuse(self, call, status, name):
        self.refused.append((call.proc, name))
        return u32(status, 1) + self.attr(name)

    def lookup(self, call):
        r = call.reader()
        where, name = self.name_of(r.opaque()), r.opaque()
        if not self.is_dir(where):
            return self.refuse(call, NOTDIR, where)
        return rpc.lookup_ok(fh(name), self.attr(name))

    def list(self, call):
        handle, _ = cookie_of(call)
        name = self.name_of(handle)
        if not self.is_dir(name):
            return self.refuse(call, NOTDIR, name)
        if name == b"root":
            names = [b"d%d" % d for d in range(DIRS)]
        else:
            first = int(name[1:]) * FILES
            names = [b"f%d" % (first + i) for i in range(FILES)]
        return page([entry(n, i + 1, self.attr(n))
                     for i, n in enumerate(names)])

    def read(self, call):
        name = self.name_of(call.reader().opaque())
        if self.is_dir(name):
            return self.refuse(call, ISDIR, name)
        if self.closed and int(name[1:]) % 2:
            return self.refuse(call, rpc.ACCES, name)
        return super().read(call)

    # ---- the clients

    def ask(self, client, cred, number):
        name = b"f%d" % number
        where = b"d%d" % (number // FILES)
        proc, body = random.choice((
            (rpc.GETATTR, opaque(fh(name))), (rpc.GETATTR, opaque(fh(name))),
            (rpc.LOOKUP, opaque(fh(where)) + opaque(name)),
            (rpc.LOOKUP, opaque(fh(where)) + opaque(name)),
            (rpc.ACCESS, rpc.access_args(fh(name))),
            (rpc.READ, rpc.read_args(fh(name))),
            (rpc.READ, rpc.read_args(fh(name))),
            (rpc.LOOKUP, opaque(rpc.ROOT) + opaque(where)),
            (rpc.READDIRPLUS, rpc.readdirplus_args(rpc.ROOT)),
            (rpc.READDIRPLUS, rpc.readdirplus_args(fh(where)))))
        if proc != rpc.READ or not self.closed or number % 2 == 0:
            client.nfs(proc, body, cred=cred)

    def mix(self, calls):
        random.seed(4)
        for _ in range(calls):
            self.ask(*random.choice(self.clients),
                     random.randrange(DIRS * FILES))

    def is_quiet(self):
        return self.ff.control("stats")["gauges"]["prefetch_flights"] == 0

    def test_types(self):
        """No call ahead is about a thing of another type."""
        self.mix(1000)
        stats = self.ff.control("stats")
        self.assertGreater(stats["counters"]["prefetch_calls"], 50)
        self.assertEqual(self.refused, [])
        self.assertEqual(stats["counters"]["prefetch_errors"], 0)

    def test_refused_once(self):
        """Nobody but the server knows that a file may not be read, whatever
        ACCESS says: that is learned once for each user."""
        self.closed = True
        self.mix(2500)
        poll(self.is_quiet, "calls ahead to end")
        reads = [name for proc, name in self.refused if proc == rpc.READ]
        self.assertGreater(len(reads), 0)
        # Pieces of one file may be under way side by side.
        self.assertLessEqual(len(reads),
                             2 * len(self.clients) * DIRS * FILES // 2)
        self.ff.counted("prefetch_errors", len(self.refused))


if __name__ == "__main__":
    daemon.main()
