#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Users may ask the daemon for some things: none is told what another does,
and none can keep the others from asking, or fill the daemon's memory."""
import struct

import daemon
import rpc
from daemon import poll
from tree import ALICE, BOB, VERSION, Users, cred, field, fields, fh, place

WARM, TREES, TRACE, HINT, EXPLAIN, PIN, FORGET = 19, 21, 22, 24, 20, 23, 33
UNKNOWN = 2  # of enum Found
LIST, SHOW, EXPORT, IMPORT = range(4)
BUSY, NOT_PERMITTED, NO_SUCH_PLACE = 5, 7, 9
READ_RIGHT, NOT_TOLD = 1, 2**64 - 1


class Asking(Users):
    # ---- traces

    def test_traces_of_one_user(self):
        begin = field(2, 0)
        alice = [self.user(ALICE) for _ in range(5)]
        got = [c.ask(TRACE, begin).get(-1) for c in alice]
        self.assertEqual(got, [None] * 4 + [BUSY])
        for uid in (BOB, 0):
            self.assertNotIn(-1, self.user(uid).ask(TRACE, begin))
        # One that ends makes room.
        alice[0].close()
        poll(lambda: -1 not in alice[4].ask(TRACE, begin), "there is room")

    # ---- drop PATH

    def test_drop_of_a_path(self):
        """The server is asked again for what was dropped, and for nothing
        else; only root may."""
        names = (b"file", b"else")
        for name in names:
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(name))
            self.client.nfs(rpc.GETATTR, rpc.opaque(fh(name)))
        path = field(1, place(self.ff, b"file"))
        self.assertEqual(self.user(ALICE).ask(FORGET, path),
                         {-1: NOT_PERMITTED})
        root = self.user(0)
        self.assertEqual(root.ask(FORGET, path), {2: 1})
        self.assertEqual(root.ask(FORGET, path), {1: UNKNOWN})
        before = len(self.up.seen(rpc.GETATTR)) + len(self.up.seen(rpc.ACCESS))
        self.client.nfs(rpc.GETATTR, rpc.opaque(fh(b"else")))
        self.assertEqual(before, len(self.up.seen(rpc.GETATTR)) +
                         len(self.up.seen(rpc.ACCESS)))
        self.client.nfs(rpc.GETATTR, rpc.opaque(fh(b"file")))
        self.assertLess(before, len(self.up.seen(rpc.GETATTR)) +
                        len(self.up.seen(rpc.ACCESS)))

    # ---- explain

    def told(self, uid, name=b"file"):
        """Its state, or None."""
        user = self.user(uid)
        got = user.ask(EXPLAIN, field(1, place(self.ff, name)))
        user.close()
        self.assertNotIn(-1, got)
        return fields(got[18])[1] if 18 in got else None

    def test_explain_tells_of_own_use_only(self):
        for uid in (ALICE, BOB):
            self.client.nfs(rpc.ACCESS, rpc.access_args(), cred=cred(uid))
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file"),
                            cred=cred(uid))
        hints = self.user(ALICE)
        hints.ask(HINT, field(1, place(self.ff)))
        hints.ask(HINT, field(2, field(1, 1) + field(2, b"file") +
                              field(5, 4096)))
        poll(lambda: self.told(ALICE), "it is told of")
        self.assertIsNone(self.told(BOB))
        poll(lambda: self.told(0) == b"ready", "it is fetched")
        # All that comes of it tells of Bob now.
        for _ in range(2):
            self.client.nfs(rpc.ACCESS, rpc.access_args(fh(b"file")),
                            cred=cred(BOB))
            self.client.nfs(rpc.READ, rpc.read_args(fh(b"file"), count=1024),
                            cred=cred(BOB))
        poll(lambda: self.told(0) == b"used", "it is used")
        self.assertIsNone(self.told(ALICE))
        self.assertIsNone(self.told(BOB))

    def test_explain_of_what_others_read(self):
        """How much that is, is for those who may read it."""
        def access(call):
            r = call.reader()
            name, asked = self.name_of(r.opaque()), r.u32()
            if name == b"file" and call.cred == cred(ALICE):
                asked &= ~READ_RIGHT
            return rpc.u32(0, 1) + self.attr(name) + rpc.u32(asked)
        self.up.script(rpc.ACCESS, access)
        self.up.script(rpc.READ, lambda c: (
            rpc.u32(rpc.ACCES, 0) if c.cred == cred(ALICE) else self.read(c)))
        handle = fh(b"file")
        for uid in (ALICE, BOB):
            self.client.nfs(rpc.ACCESS, rpc.access_args(), cred=cred(uid))
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file"),
                            cred=cred(uid))
            self.client.nfs(rpc.ACCESS, rpc.access_args(handle),
                            cred=cred(uid))
        self.client.nfs(rpc.READ, rpc.read_args(handle, count=1024),
                        cred=cred(BOB))

        def told(uid):
            user = self.user(uid)
            got = user.ask(EXPLAIN, field(1, place(self.ff, b"file")))
            user.close()
            self.assertEqual(got.get(6), self.size)
            return got.get(17, 0)
        poll(lambda: told(BOB) not in (0, NOT_TOLD), "some of it is cached")
        self.assertEqual(told(0), told(BOB))
        self.assertEqual(told(ALICE), NOT_TOLD)

    # ---- mounts

    def test_exports_that_nobody_mounted(self):
        other = (field(1, b"127.0.0.1:%d" % self.ff.port) +
                 field(2, b"/other"))
        before = len(self.up.seen(rpc.MNT, rpc.MOUNT))
        self.assertEqual(self.user(ALICE).ask(WARM, field(1, other))[-1],
                         NO_SUCH_PLACE)
        self.assertEqual(self.user(ALICE).ask(PIN, field(1, 1) + field(
            2, other))[-1], NO_SUCH_PLACE)
        self.assertEqual(self.user(ALICE).ask(HINT, field(1, other))[-1],
                         NO_SUCH_PLACE)
        self.assertEqual(len(self.up.seen(rpc.MNT, rpc.MOUNT)), before)
        self.assertNotIn(-1, self.user(ALICE).ask(
            WARM, field(1, place(self.ff))))
        self.assertNotIn(-1, self.user(0).ask(WARM, field(1, other)))
        self.up.wait(rpc.MNT, before + 1, rpc.MOUNT)

    # ---- what is carried in parts

    def carry(self, control):
        """The first part of a file, with more to come."""
        return control.ask(TREES, field(2, IMPORT) + field(5, bytes(1000)) +
                           field(6, 1)).get(-1)

    def test_what_one_user_carries(self):
        alice = [self.user(ALICE) for _ in range(3)]
        self.assertEqual([self.carry(c) for c in alice], [None, None, BUSY])
        self.assertIsNone(self.carry(self.user(BOB)))
        self.assertIsNone(self.carry(self.user(0)))
        alice[0].close()
        poll(lambda: self.carry(alice[2]) is None, "there is room")

    def test_what_all_users_carry(self):
        users = [self.user(ALICE + i // 2) for i in range(9)]
        self.assertEqual([self.carry(c) for c in users], [None] * 8 + [BUSY])
        self.assertIsNone(self.carry(self.user(0)))

    # ---- many at a time

    def learn(self, uid):
        """A program that uses some files."""
        for i in range(40):
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file%d" % i),
                            cred=cred(uid))

    def request(self, control, body):
        req = field(1, VERSION) + field(TREES, body)
        control.sock.sendall(struct.pack(">I", len(req)) + req)

    def answer(self, control):
        n, = struct.unpack(">I", control.take(4))
        return fields(fields(control.take(n))[TREES])

    def test_many_ask_at_a_time(self):
        """Sixteen connections of a user, over and over; others are answered,
        and nothing is kept."""
        self.learn(ALICE)
        self.learn(BOB)
        alice = [self.user(ALICE) for _ in range(16)]
        bob = self.user(BOB)
        want = self.tree_of(bob)
        rss = []
        for _ in range(12):
            for i, c in enumerate(alice):
                self.request(c, field(2, EXPORT if i % 2 else LIST))
            self.assertEqual(self.tree_of(bob), want)
            self.assertNotIn(-1, bob.ask(PIN))
            for i, c in enumerate(alice):
                self.assertIn(3 if i % 2 else 1, self.answer(c))
            rss.append(self.ff.rss_kib())
        self.assertLess(rss[-1] - rss[3], 8192)

    def tree_of(self, control):
        """The tree used last, as it lasts."""
        got = control.ask(TREES)
        self.assertNotIn(-1, got)
        return fields(fields(got[1])[1])[1]

    def test_who_leaves_in_the_middle(self):
        """Work that was begun for a client ends with it."""
        self.learn(ALICE)
        for _ in range(20):
            for action in (LIST, EXPORT):
                c = self.user(ALICE)
                self.request(c, field(2, action))
                c.close()
        self.assertNotIn(-1, self.user(ALICE).ask(TREES))


if __name__ == "__main__":
    daemon.main()
