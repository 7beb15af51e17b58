#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon asks for what a user's former sessions used when the next one
begins: as that user, for nobody else, and never in anyone's way."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32, u64

ALICE, BOB = rpc.auth_sys(uid=1000), rpc.auth_sys(uid=1001)
FILES = 40
SIZE = 16384


def fh(name):
    return b"fh-" + name.ljust(13, b".")


def names(prefix=b"file", n=FILES):
    return [b"%s%02d" % (prefix, i) for i in range(n)]


class Sessions(daemon.Case):
    settings = {}

    def setUp(self):
        super().setUp()
        self.hold = False
        self.held = []
        self.up.script(rpc.GETATTR, lambda c: u32(0) + self.attr(
            c.reader().opaque()))
        self.up.script(rpc.FSINFO, lambda c: (
            u32(0, 1) + self.attr(rpc.ROOT) +
            u32(65536, 65536, 4096, 65536, 65536, 4096, 4096) +
            u64(1 << 40) + u32(0, 1, 27)))
        self.up.script(rpc.LOOKUP, self.lookup)
        self.up.script(rpc.ACCESS, self.access)
        self.up.script(rpc.READ, self.read)

    # ---- the server

    def attr(self, handle):
        if handle == rpc.ROOT:
            return rpc.fattr(rpc.DIR, 1, 4096, 0o755)
        return rpc.fattr(rpc.REG, 100 + int.from_bytes(handle[3:10], "big"),
                         SIZE)

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        return (u32(0) + opaque(fh(name)) + u32(1) + self.attr(fh(name)) +
                u32(1) + self.attr(rpc.ROOT))

    def access(self, call):
        if self.hold:
            self.held.append(call)
            return HOLD
        return self.granted(call)

    def granted(self, call):
        r = call.reader()
        return u32(0, 1) + self.attr(r.opaque()) + u32(r.u32())

    def read(self, call):
        r = call.reader()
        handle, offset, count = r.opaque(), r.u64(), r.u32()
        n = max(0, min(count, SIZE - offset))
        return (u32(0, 1) + self.attr(handle) +
                u32(n, int(offset + n >= SIZE)) +
                opaque(rpc.pattern(offset, n)))

    # ---- users

    def mount(self, client):
        """As the kernel's client does, by root."""
        root = rpc.auth_sys(uid=0)
        self.assertEqual(client.nfs(rpc.FSINFO, opaque(rpc.ROOT),
                                    cred=root)[0], 0)
        self.assertEqual(client.nfs(rpc.GETATTR, opaque(rpc.ROOT),
                                    cred=root)[0], 0)

    def use(self, client, name, cred):
        self.assertEqual(client.nfs(
            rpc.LOOKUP, rpc.lookup_args(name), cred=cred)[0], 0)
        self.assertEqual(client.nfs(
            rpc.ACCESS, rpc.access_args(fh(name)), cred=cred)[0], 0)
        self.assertEqual(client.nfs(
            rpc.READ, rpc.read_args(fh(name), 0, 4096), cred=cred)[0], 0)

    def teach(self, cred=ALICE):
        """Three sessions, after which the daemon is a new one without data:
        what fewer had is hardly worth its bytes on a link as fast as this."""
        with self.ff.connect() as c:
            for _ in range(3):
                self.mount(c)
                for name in names():
                    self.use(c, name, cred)
        self.ff.stop()
        shutil.rmtree(os.path.join(self.ff.dir, "cache", "nas", "data"),
                      ignore_errors=True)
        self.ff.start()
        with self.up.cond:
            self.up.calls.clear()

    def begin(self, cred):
        """A mount, and the first call of a user, which says nothing of what
        it may search: so nobody's trees are told to it."""
        client = self.connect()
        self.mount(client)
        self.look(client, cred)
        return client

    def look(self, client, cred):
        self.assertEqual(client.nfs(rpc.GETATTR, opaque(rpc.ROOT),
                                    cred=cred)[0], 0)

    def asked(self):
        """Files that the server was asked to confirm, and by whom."""
        return {(c.reader().opaque(), c.cred)
                for c in self.up.seen(rpc.ACCESS)
                if c.reader().opaque() != rpc.ROOT}

    def read_ahead(self):
        return {c.reader().opaque() for c in self.up.seen(rpc.READ)}

    def replayed(self, n=1):
        self.ff.counted("sessions_replayed", n)


class Replay(Sessions):
    def test_asked_ahead(self):
        self.teach()
        self.begin(ALICE)
        poll(lambda: len(self.asked()) == FILES, "all of it is asked for")
        self.replayed()
        uid = {cred for _, cred in self.asked()}
        self.assertEqual(uid, {ALICE})
        self.assertEqual({handle for handle, _ in self.asked()},
                         {fh(name) for name in names()})
        poll(lambda: len(self.read_ahead()) == FILES, "all of it is read")
        self.assertGreater(self.ff.counter("session_bytes"), 0)

    def test_used(self):
        self.teach()
        client = self.begin(ALICE)
        poll(lambda: len(self.asked()) == FILES, "all of it is asked for")
        for name in names():
            self.use(client, name, ALICE)
        self.ff.counted("session_used", FILES)
        self.assertEqual(self.ff.counter("sessions_stopped"), 0)

    def test_other_user(self):
        """Who comes first gets nothing of it, who it belongs to all."""
        self.teach()
        self.begin(BOB)
        self.begin(ALICE)
        poll(lambda: len(self.asked()) == FILES, "all of it is asked for")
        self.assertEqual({cred for _, cred in self.asked()}, {ALICE})
        self.replayed()

    def test_nobody_came(self):
        """No credential of a former daemon is used."""
        self.teach()
        client = self.begin(BOB)
        self.use(client, b"other", BOB)
        self.assertEqual({cred for _, cred in self.asked()}, {BOB})
        self.assertEqual(self.ff.counter("sessions_replayed"), 0)

    def test_not_in_the_way(self):
        """Nothing that is asked ahead is answered: mounts and users are."""
        self.teach()
        client = self.connect()
        with self.up.cond:
            self.hold = True
        self.mount(client)
        self.look(client, ALICE)
        poll(lambda: self.held, "something is asked ahead")
        self.mount(client)
        self.assertEqual(client.nfs(
            rpc.LOOKUP, rpc.lookup_args(b"other"), cred=ALICE)[0], 0)
        self.assertEqual(client.nfs(
            rpc.READ, rpc.read_args(fh(b"other"), 0, 4096), cred=ALICE)[0], 0)
        with self.up.cond:
            self.hold = False
        for call in self.held:
            call.reply(self.granted(call))

    def test_refused(self):
        """The server says no, or nonsense: nobody else hears of it."""
        for answer in (u32(13, 0), b"", u32(70, 0), u32(0, 7)):
            self.up.script(rpc.ACCESS, self.access)
            self.teach()
            self.up.script(rpc.ACCESS, answer)
            client = self.begin(ALICE)
            self.up.wait(rpc.ACCESS)
            self.assertEqual(client.nfs(
                rpc.READ, rpc.read_args(fh(b"file00"), 0, 4096),
                cred=ALICE)[0], 0)

    def test_other_way(self):
        self.teach()
        client = self.begin(ALICE)
        self.replayed()
        for name in names(b"else"):
            self.use(client, name, ALICE)
        self.ff.counted("sessions_stopped", 1)

    def test_damaged(self):
        self.teach()
        self.ff.stop()
        path = os.path.join(self.ff.dir, "cache", "nas", "trees")
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2)
            f.write(b"damaged")
        self.ff.start()
        client = self.begin(ALICE)
        for name in names():
            self.use(client, name, ALICE)
        self.assertEqual(self.ff.counter("sessions_replayed"), 0)
        self.assertTrue(os.path.exists(path + ".damaged"))


class Off(Sessions):
    settings = {"session_time": "0"}

    def test_off(self):
        self.teach()
        client = self.begin(ALICE)
        for name in names():
            self.use(client, name, ALICE)
        for counter in ("sessions_recorded", "sessions_replayed",
                        "session_wanted"):
            self.assertEqual(self.ff.counter(counter), 0)


class NoPrefetch(Sessions):
    settings = {"prefetch": "off"}

    def test_off(self):
        self.teach()
        client = self.begin(ALICE)
        self.use(client, b"file00", ALICE)
        self.assertLessEqual(len(self.asked()), 1)
        self.assertEqual(self.ff.counter("prefetch_calls"), 0)
        self.assertEqual(self.ff.counter("sessions_replayed"), 0)


class NoBytes(Sessions):
    """Names and rights are confirmed, data is left to others."""
    settings = {"session_size": "0"}

    def test_size(self):
        self.teach()
        client = self.begin(ALICE)
        poll(lambda: len(self.asked()) == FILES, "all of it is asked for")
        for _ in range(5):
            self.look(client, ALICE)
        self.assertNotIn(fh(names()[-1]), self.read_ahead())


if __name__ == "__main__":
    daemon.main()
