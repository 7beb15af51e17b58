#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever users share: twenty of them take all that they may, and root can
still see what goes on, and end it."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from tree import ALICE, Users, cred, entry, field, fields, page, place

WARM, TREES, TRACE, PIN, HINT, STATUS = 19, 21, 22, 23, 24, 16
BUSY = 5
UIDS = range(ALICE, ALICE + 20)


class Places(Users):
    def root(self, *args):
        """Runs a command as root types it."""
        done = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, *args],
            env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=daemon.BOUND)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def fill(self, command, body, each):
        """Each of twenty users asks for it over connections of its own, until
        it is refused; how many got it."""
        got = 0
        for uid in UIDS:
            for i in range(each + 1):
                one = self.connection(uid)
                try:
                    answer = one.ask(command, body(uid, i))
                except (EOFError, OSError):
                    continue
                if answer.get(-1) == BUSY:
                    one.close()
                    break
                self.assertNotIn(-1, answer)
                got += 1
        return got

    def served(self, command, body):
        return self.user(0).ask(command, body)

    def test_connections(self):
        """They hold them, and ask nothing."""
        for uid in UIDS:
            for _ in range(16):
                self.connection(uid)
        self.root("status")
        self.root("reload")
        # Nor is another user kept out, and root not by users who come anew.
        self.assertNotIn(-1, self.user(ALICE + 99).ask(STATUS))
        for uid in UIDS:
            self.connection(uid)
        self.root("status")

    def test_one_gives_up_what_it_uses_least(self):
        """Four users have all places; the fifth gets one, and nobody loses
        what is under way, or was used last."""
        mine = {uid: [self.user(uid) for _ in range(14)]
                for uid in range(ALICE, ALICE + 4)}
        self.up.script(rpc.READDIRPLUS, HOLD)
        for uid, (first, *_) in mine.items():
            self.assertNotIn(-1, first.ask(WARM, field(1, place(self.ff))))
        late = [self.user(uid) for uid in range(ALICE + 10, ALICE + 14)]
        for one in late:
            self.assertNotIn(-1, one.ask(STATUS))
        for first, *others in mine.values():
            self.assertNotIn(-1, first.ask(WARM))
            self.assertNotIn(-1, others[-1].ask(STATUS))

    def test_walks(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        got = self.fill(WARM, lambda uid, i: field(1, place(self.ff)), 1)
        self.assertEqual(got, 28)
        self.assertNotIn(-1, self.served(WARM, field(1, place(self.ff))))

    def test_pins(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        got = self.fill(PIN, lambda uid, i: field(1, 1) + field(
            2, place(self.ff, b"dir%d-%d" % (uid, i))), 1)
        self.assertEqual(got, 28)
        self.assertNotIn(-1, self.served(PIN, field(1, 1) + field(
            2, place(self.ff, b"dir"))))

    def test_hints(self):
        got = self.fill(HINT, lambda uid, i: field(1, place(self.ff)), 1)
        self.assertEqual(got, 28)
        self.assertNotIn(-1, self.served(HINT, field(1, place(self.ff))))

    def test_what_one_user_may(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        for uid, (most, ask) in enumerate((
                (8, lambda c, i: c.ask(HINT, field(1, place(self.ff)))),
                (16, lambda c, i: c.ask(WARM, field(1, place(self.ff)))),
                (4, lambda c, i: c.ask(TRACE, field(2, 0)))), ALICE):
            mine = [self.user(uid) for _ in range(16)]
            got = [ask(c, i).get(-1) for i, c in enumerate(mine)]
            self.assertEqual(got, [None] * most + [BUSY] * (16 - most))
            for c in mine:
                c.close()
        mine = self.user(ALICE + 9)

        def pin(i):
            return mine.ask(PIN, field(1, 1) + field(2, place(
                self.ff, b"dir%d" % i))).get(-1)
        for i in range(16):
            poll(lambda: pin(i) is None, "the former walks end")
        self.assertEqual(pin(16), BUSY)

    def test_traces(self):
        got = self.fill(TRACE, lambda uid, i: field(2, 0), 0)
        self.assertEqual(got, 14)
        self.assertNotIn(-1, self.served(TRACE, field(2, 0)))

    def test_files_in_parts(self):
        body = field(2, 3) + field(5, bytes(1000)) + field(6, 1)
        self.assertEqual(self.fill(TREES, lambda uid, i: body, 1), 8)
        self.assertNotIn(-1, self.served(TREES, body))

    def test_work(self):
        """Twenty users have the daemon go through lists, over and over."""
        ends = time.monotonic() + 30
        users = [self.user(uid) for uid in UIDS for _ in range(2)]
        for i in range(5):
            for one in users:
                one.sock.sendall(b"\x00\x00\x00\x05\x08\x03\xaa\x01\x00")
            self.root("reload")
            self.root("pins")
            self.root("trees", "list")
        self.assertLess(time.monotonic(), ends)

    def test_learning(self):
        """The daemon learns of twenty users, and of root."""
        for uid in (*UIDS, 0):
            for i in range(40):
                self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file%d" % i),
                                cred=cred(uid))
        poll(lambda: " root " in self.root("trees", "list") or
             " 0 " in self.root("trees", "list"), "root has a tree")


class Small(Users):
    """Half of the cache, 4 MiB, is less than what all would pin."""
    settings = dict(Users.settings, daemon={"cache_size": "8M"})
    size = 100000

    def list(self, call):
        name = self.name_of(call.reader().opaque())
        return page([entry(b"f" + name[3:] + b"-%d" % i, i + 1,
                           self.attr(b"file")) for i in range(4)])

    def pinned(self, uid):
        """The pin of whoever has pinned last."""
        one = self.user(uid)
        pin = fields(one.ask(PIN)[1])
        one.close()
        self.assertEqual(pin.get(5, 0), uid)
        return None if pin.get(10) else fields(pin[12])

    def is_full(self, uid):
        """Whether what it pins is more than there is room for."""
        self.assertNotIn(-1, self.user(uid).ask(PIN, field(1, 1) + field(
            2, place(self.ff, b"dir%d" % uid))))
        return bool(poll(lambda: self.pinned(uid), "the walk ends").get(4))

    def test_room_for_pins(self):
        self.assertIn(True, [self.is_full(uid) for uid in UIDS])
        self.assertFalse(self.is_full(0))


if __name__ == "__main__":
    daemon.main()
