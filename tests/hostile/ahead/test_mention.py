#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files made of names: what they mention is fetched with their reader's rights
only, and takes no more than what is read, and an allowance."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import memfs
import rpc
from daemon import poll

HOUR = 3600
TRIP_S = 0.02 # a guess pays only on a link that is not short
READER, OWNER = 1000, 2000
CHUNK = 16384

# waste.c: ALLOWANCE_MAX, and what is under way when the limit is reached.
ALLOWANCE = 2 << 20
UNDER_WAY = 1 << 20


class Names(unittest.TestCase):
    uid = READER

    def setUp(self):
        self.up = memfs.FarServer(TRIP_S)
        self.addCleanup(self.up.close)
        self.up.make("tree", rpc.DIR, age=HOUR, mode=0o755)
        self.ff = daemon.Daemon(self.up.port)
        self.addCleanup(self.ff.close)

    def start(self):
        self.ff.start()
        client = self.ff.connect()
        self.addCleanup(client.close)
        return client

    def nfs(self, client, proc, args):
        return client.nfs(proc, args, cred=rpc.auth_sys(self.uid, self.uid))

    def file(self, name, data, **kw):
        return self.up.make("tree/" + name, rpc.REG, data, age=HOUR, **kw)

    def ok(self, client, proc, args):
        st, r = self.nfs(client, proc, args)
        self.assertEqual(st, 0)
        return r

    def enter(self, client):
        tree = self.up.node("tree").fh
        self.ok(client, rpc.LOOKUP, rpc.lookup_args(b"tree"))
        self.ok(client, rpc.ACCESS, rpc.access_args(tree))
        self.ok(client, rpc.READDIRPLUS, rpc.readdirplus_args(
            tree, maxcount=1 << 20))

    def read(self, client, node):
        self.ok(client, rpc.ACCESS, rpc.access_args(node.fh))
        for at in range(0, len(node.data), CHUNK):
            self.ok(client, rpc.READ, rpc.read_args(node.fh, at, CHUNK))

    def bytes_ahead(self, node):
        """Of all files but `node`, so many bytes were asked for in READs."""
        total = 0
        for call in self.up.seen(rpc.READ):
            r = call.reader()
            read = self.up.nodes[r.opaque()]
            at, count = r.u64(), r.u32()
            if read is not node:
                total += max(0, min(count, len(read.data) - at))
        return total

    def silent(self):
        """Until what was read was scanned, and nothing more is wanted."""
        poll(lambda: self.ff.counter("mention_scans") > 0, "it is scanned")
        poll(lambda: not any(
            self.ff.control("stats")["gauges"]["prefetch_" + what]
            for what in ("wants", "flights")), "it wants nothing more")


class Dictionary(Names):
    """A list of all the files beside it: every second one is so short that it
    pays on any link, the others are worth it on some."""

    def test_bytes(self):
        names = [b"word%04d.txt" % i for i in range(1000)]
        for i, name in enumerate(names):
            self.file(name.decode(), b"no names here " * (860 * (i % 2) + 1))
        words = self.file("words", b"\n".join(names * 5)[:65000])
        client = self.start()
        self.enter(client)
        self.read(client, words)
        # The first scan may be of too few bytes to tell of a file.
        poll(lambda: self.bytes_ahead(words) > 0, "a file is fetched ahead")
        self.silent()
        self.assertLess(self.bytes_ahead(words),
                        len(words.data) + ALLOWANCE + UNDER_WAY)


class Secrets(Names):
    """A file of everybody's mentions one that only its owner may read."""

    def test_rights(self):
        secret = self.file("secret.key", b"geheim" * 100, uid=OWNER,
                           mode=0o600)
        public = self.file("public.txt", b"all may know " * 100)
        notes = self.file("notes.txt", b'see "secret.key", "public.txt"\n')
        client = self.start()
        self.enter(client)
        self.read(client, notes)
        self.silent()
        self.assertTrue(any(public is self.up.nodes[c.reader().opaque()]
                            for c in self.up.seen(rpc.READ)))
        # Whatever was asked for was asked for as the reader.
        for proc in rpc.ACCESS, rpc.READ:
            for call in self.up.seen(proc):
                if call.reader().opaque() in (secret.fh, public.fh):
                    self.assertEqual(self.up.of(call), READER)
        st, _ = self.nfs(client, rpc.READ, rpc.read_args(secret.fh))
        self.assertEqual(st, rpc.ACCES)

    def test_owner_then_reader(self):
        """A file that came ahead for its owner is not told to others."""
        secret = self.file("secret.key", b"geheim" * 100, uid=OWNER,
                           mode=0o600)
        notes = self.file("notes.txt", b'see "secret.key"\n')
        client = self.start()
        self.uid = OWNER
        self.enter(client)
        self.read(client, notes)
        self.silent()
        self.assertGreater(self.bytes_ahead(notes), 0,
                           "it was fetched for its owner")
        self.uid = READER
        st, _ = self.nfs(client, rpc.READ, rpc.read_args(secret.fh))
        self.assertEqual(st, rpc.ACCES)


class Encodings(Names):
    """Names that are no UTF-8, as long as names may be, or hardly names."""

    def test_bytes(self):
        names = [b"caf\xe9.txt", b"\x93\xfa\x96{\x8c\xea.txt", b"n" * 255,
                 b"\xff\xfe\x00".replace(b"\0", b"\1"), b"-", b"...", b" ",
                 b"a\nb", b"%s%n", b"\xe2\x80\xae.txt"]
        tree = self.up.node("tree")
        for name in names:
            node = self.up.new_node(tree, name, rpc.REG, READER, 0o644,
                                    self.up.clock() - HOUR * 10 ** 9)
            node.data[:] = b"x" * 1000
        notes = self.file("notes.txt", b"".join(b'"%s"\n' % n for n in names))
        client = self.start()
        self.enter(client)
        self.read(client, notes)
        self.silent()
        for name in names:
            r = self.ok(client, rpc.LOOKUP, rpc.lookup_args(name, tree.fh))
            self.assertEqual(r.opaque(), tree.names[name].fh)


if __name__ == "__main__":
    daemon.main()
