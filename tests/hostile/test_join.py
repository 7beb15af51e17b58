#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that find what they want on its way, before a server that is slow,
refuses or talks nonsense: each gets its own answer, and none another's."""
import time

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD, Raw
from rpc import opaque, u32, u64

OTHER = rpc.auth_sys(uid=1001)
SIZE = 16384
GRAIN = 0.1  # what a file's bytes have to wait for, to be bound to its ctime
PAUSE = 0.8  # seconds of silence, behind which a run begins


def fh(name):
    return b"fh-" + name.ljust(13, b".")


def handle_of(call):
    return call.reader().opaque()


class Slow(daemon.Case):
    """Answers with attributes, and keeps back what it is told to."""

    def setUp(self):
        super().setUp()
        self.held = []
        self.hold = set()   # (procedure, handle)
        self.version = {}   # of a handle, if it has changed
        self.script_all()
        self.client = self.connect()

    def script_all(self):
        self.answers = {rpc.GETATTR: self.getattr, rpc.LOOKUP: self.lookup,
                        rpc.ACCESS: self.access, rpc.READ: self.read,
                        rpc.READDIRPLUS: self.list}
        for proc in self.answers:
            self.up.script(proc, self.answer)

    def tearDown(self):
        """Nobody has been harmed."""
        self.hold.clear()
        with self.ff.connect() as c:
            self.assertEqual(c.nfs(rpc.GETATTR, opaque(rpc.ROOT))[0], 0)
            self.assertEqual(self.read_by(c, b"last"), rpc.pattern(0, SIZE))

    # ---- the server

    def answer(self, call):
        if (call.proc, handle_of(call)) in self.hold:
            self.held.append(call)
            return HOLD
        return self.answers[call.proc](call)

    def release(self, results=None):
        """Answer what was held, and hold no more."""
        self.hold.clear()
        for call in self.held:
            if isinstance(results, Raw):
                call.reply_raw(u32(call.xid) + results.data)
            else:
                call.reply(self.answers[call.proc](call)
                           if results is None else results)
        self.held = []

    def attr(self, handle):
        ctime = (5 + self.version.get(handle, 0), 77)
        if handle == rpc.ROOT:
            return rpc.fattr(rpc.DIR, 1, 4096, 0o755, ctime=ctime)
        return rpc.fattr(rpc.REG, 100 + sum(handle), SIZE, ctime=ctime)

    def getattr(self, call):
        return u32(0) + self.attr(handle_of(call))

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        root = u32(1) + self.attr(rpc.ROOT)
        if name.startswith(b"no"):
            return u32(rpc.NOENT) + root
        return (u32(0) + opaque(fh(name)) + u32(1) + self.attr(fh(name)) +
                root)

    def access(self, call):
        r = call.reader()
        return u32(0, 1) + self.attr(r.opaque()) + u32(r.u32())

    def read(self, call):
        r = call.reader()
        handle, offset, count = r.opaque(), r.u64(), r.u32()
        n = min(count, SIZE - offset)
        return (u32(0, 1) + self.attr(handle) +
                u32(n, int(offset + n == SIZE)) +
                opaque(rpc.pattern(offset, n)))

    def list(self, call):
        out = u32(0, 1) + self.attr(rpc.ROOT) + b"verifier"
        for i, name in enumerate((b"a", b"b", b"c", b"d")):
            out += (u32(1) + u64(1000 + i) + opaque(name) + u64(i + 1) +
                    u32(1) + self.attr(fh(name)) + u32(1) + opaque(fh(name)))
        return out + u32(0, 1)

    def seen(self, proc, handle=rpc.ROOT):
        return len([c for c in self.up.seen(proc) if handle_of(c) == handle])

    def wait_held(self, n=1):
        poll(lambda: len(self.held) >= n, "%d calls are held" % n)
        self.assertEqual(len(self.held), n)

    # ---- clients

    def joined(self, n):
        self.ff.counted("calls_joined", n)

    def found(self, client, xid, name):
        reply = client.recv()
        self.assertEqual(reply.xid, xid)
        self.assertEqual(rpc.status(reply), 0)
        r = rpc.Reader(reply.body)
        r.u32()
        self.assertEqual(r.opaque(), fh(name))

    def read_by(self, client, name, count=SIZE, **kw):
        st, r = client.nfs(rpc.READ, rpc.read_args(fh(name), 0, count), **kw)
        self.assertEqual(st, 0)
        return self.data(r)

    def data(self, r):
        if r.u32():
            r.fixed(84)
        r.u32(), r.u32()
        return r.opaque()


class Listing(Slow):
    """Whoever misses a name gets its directory listed ahead; who wants
    another one meanwhile waits for that."""

    def setUp(self):
        super().setUp()
        self.hold.add((rpc.READDIRPLUS, rpc.ROOT))
        self.client.nfs(rpc.ACCESS, rpc.access_args())
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"a"))
        self.wait_held()
        self.before = self.ff.counter("calls_joined")
        self.lookups = self.seen(rpc.LOOKUP)

    def ask(self, client, name, n=1):
        """A LOOKUP that waits, as the n-th."""
        xid = client.send(rpc.LOOKUP, rpc.lookup_args(name))
        self.joined(self.before + n)
        return xid

    def asked(self, n):
        self.assertEqual(self.seen(rpc.LOOKUP) - self.lookups, n)

    def test_answered_by_the_listing(self):
        xid = self.ask(self.client, b"b")
        self.asked(0)
        self.release()
        self.found(self.client, xid, b"b")
        self.asked(0)

    def test_not_in_the_listing(self):
        """It says nothing of the name: the server is asked for it."""
        xid = self.ask(self.client, b"none")
        self.release()
        reply = self.client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (xid, rpc.NOENT))
        self.asked(1)

    def test_listing(self):
        """Who lists the directory himself needs no listing of his own."""
        xid = self.client.send(rpc.READDIRPLUS, rpc.readdirplus_args())
        self.joined(self.before + 1)
        self.release()
        reply = self.client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (xid, 0))
        for name in (b"a", b"b", b"c", b"d"):
            self.assertIn(fh(name), reply.body)
        self.assertEqual(self.seen(rpc.READDIRPLUS), 1)

    def test_many_wait(self):
        names = (b"b", b"c", b"d", b"b")
        clients = [self.connect() for _ in names]
        xids = [self.ask(c, name, i + 1)
                for i, (c, name) in enumerate(zip(clients, names))]
        self.release()
        for args in zip(clients, xids, names):
            self.found(*args)
        self.asked(0)

    def test_client_closes_while_it_waits(self):
        gone, other = self.connect(), self.connect()
        self.ask(gone, b"b")
        xid = self.ask(other, b"b", 2)
        gone.close()
        self.ff.clients(2)
        self.release()
        self.found(other, xid, b"b")

    def test_all_close_while_they_wait(self):
        for i in range(5):
            c = self.connect()
            self.ask(c, b"c", i + 1)
            c.abort()
        self.client.close()
        self.ff.clients(0)
        self.release()
        c = self.connect()
        xid = c.send(rpc.LOOKUP, rpc.lookup_args(b"c"))
        self.found(c, xid, b"c")

    def test_another_user_asks_for_himself(self):
        st, r = self.client.nfs(
            rpc.LOOKUP, rpc.lookup_args(b"b"), cred=OTHER)
        self.assertEqual((st, r.opaque()), (0, fh(b"b")))
        self.asked(1)
        self.assertEqual(self.up.seen(rpc.LOOKUP)[-1].cred, OTHER)
        self.release()
        # Nor does what came for the first serve the second.
        st, _ = self.client.nfs(
            rpc.LOOKUP, rpc.lookup_args(b"none"), cred=OTHER)
        self.assertEqual(st, rpc.NOENT)

    def own_answer(self, results):
        xid = self.ask(self.client, b"b")
        self.release(results)
        self.found(self.client, xid, b"b")
        self.asked(1)

    def test_garbage(self):
        self.own_answer(b"\xff" * 40)

    def test_nothing(self):
        self.own_answer(b"")

    def test_listing_cut_short(self):
        self.own_answer(self.list(None)[:-20])

    def test_refused(self):
        self.own_answer(u32(rpc.ACCES, 0))

    def test_rpc_error(self):
        self.own_answer(Raw(u32(1, 0, 0, 0, rpc.SYSTEM_ERR)))

    def test_server_is_busy(self):
        """It is left alone by calls ahead, and by no other."""
        self.own_answer(u32(rpc.JUKEBOX, 0))
        self.ff.counted("prefetch_paused", 1)
        calls = self.ff.counter("prefetch_calls")
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"x"))
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"y"))
        self.assertEqual(self.ff.counter("prefetch_calls"), calls)

    def test_connection_is_lost(self):
        """A call that was sent ahead is sent again, for who waits."""
        xid = self.ask(self.client, b"b")
        self.held = []
        self.hold.clear()
        self.up.reset_all()
        self.found(self.client, xid, b"b")

    def test_stop(self):
        """With a request that waits, and a call ahead under way."""
        self.ask(self.client, b"b")
        self.ff.stop()
        self.hold.clear()
        self.ff.start()


class Calls(Slow):
    """Two clients of one user: the second waits for the first one's call."""
    settings = {"prefetch": "off"}
    joins = True

    def setUp(self):
        super().setUp()
        self.file = fh(b"a")
        self.client.nfs(rpc.GETATTR, opaque(self.file))
        self.second = self.connect()
        self.before = self.ff.counter("calls_joined")

    def both(self, proc, first, second, **kw):
        """The replies to two calls, sent one behind the other."""
        self.hold.add((proc, self.file))
        one = self.client.send(proc, first)
        self.wait_held()
        two = self.second.send(proc, second, **kw)
        if self.joins and not kw:
            self.joined(self.before + 1)
            self.wait_held()
        else:
            self.wait_held(2)
            self.joined(self.before)
        self.release()
        replies = self.client.recv(), self.second.recv()
        self.assertEqual([r.xid for r in replies], [one, two])
        self.assertEqual([rpc.status(r) for r in replies], [0, 0])
        return replies

    def test_access(self):
        got = self.both(rpc.ACCESS, rpc.access_args(self.file),
                        rpc.access_args(self.file, 1))
        self.assertEqual(rpc.Reader(got[0].body[-4:]).u32(), 0x3f)
        self.assertEqual(rpc.Reader(got[1].body[-4:]).u32(), 1)

    def test_part_of_a_read(self):
        got = self.both(rpc.READ, rpc.read_args(self.file, 0, SIZE),
                        rpc.read_args(self.file, 4096, 512))
        r = rpc.Reader(got[1].body)
        r.u32()
        self.assertEqual(self.data(r), rpc.pattern(4096, 512))
        self.assertEqual(self.seen(rpc.READ, self.file),
                         1 if self.joins else 2)

    def test_two_users(self):
        # In this order: who asks for rights opens it, so READs go ahead.
        self.both(rpc.READ, rpc.read_args(self.file),
                  rpc.read_args(self.file), cred=OTHER)
        self.both(rpc.ACCESS, rpc.access_args(self.file),
                  rpc.access_args(self.file), cred=OTHER)
        users = {c.cred for c in self.up.seen(rpc.READ)
                 if handle_of(c) == self.file}
        self.assertEqual(users, {rpc.auth_sys(), OTHER})

    def ask_longer(self, n):
        """One asks for the first 4096 bytes of the file, the other for n, while
        the server keeps its replies back."""
        self.hold.add((rpc.READ, self.file))
        self.client.send(rpc.READ, rpc.read_args(self.file, 0, 4096))
        self.wait_held()
        self.second.send(rpc.READ, rpc.read_args(self.file, 0, n))
        self.wait_held(2)

    def rest_is_asked(self):
        args = self.held[1].reader()
        args.opaque()
        self.assertEqual((args.u64(), args.u32()), (4096, 4096))

    def both_have(self, n, reads):
        for client, size in ((self.client, 4096), (self.second, n)):
            r = rpc.Reader(client.recv().body)
            self.assertEqual(r.u32(), 0)
            self.assertEqual(self.data(r), rpc.pattern(0, size))
        self.assertEqual(self.seen(rpc.READ, self.file), reads)

    def test_longer_read(self):
        """It asks for what is missing at once, not behind its beginning."""
        time.sleep(GRAIN)
        self.ask_longer(8192)
        if self.joins:
            self.joined(self.before + 1)
            self.rest_is_asked()
        self.release()
        self.both_have(8192, 2)

    def test_the_rest_comes_first(self):
        if not self.joins:
            return
        time.sleep(GRAIN)
        self.ask_longer(8192)
        rest = self.held.pop()
        rest.reply(self.read(rest))
        self.release()
        self.both_have(8192, 2)

    def test_what_is_cached_does_not_come_again(self):
        """Only the hole behind the beginning is asked for."""
        if not self.joins:
            return
        time.sleep(GRAIN)
        self.client.nfs(rpc.READ, rpc.read_args(self.file, 8192, 4096))
        self.ask_longer(12288)
        self.rest_is_asked()
        self.release()
        self.both_have(12288, 3)

    def test_first_closes(self):
        """Its call goes on for the one that waits for it."""
        self.hold.add((rpc.READ, self.file))
        self.client.send(rpc.READ, rpc.read_args(self.file))
        self.wait_held()
        self.second.send(rpc.READ, rpc.read_args(self.file, 0, 512))
        self.wait_held(1 if self.joins else 2)
        if self.joins:
            self.joined(self.before + 1)
        self.client.abort()
        self.ff.clients(1)
        self.release()
        r = rpc.Reader(self.second.recv().body)
        self.assertEqual(r.u32(), 0)
        self.assertEqual(self.data(r), rpc.pattern(0, 512))
        self.assertEqual(self.seen(rpc.READ, self.file),
                         1 if self.joins else 2)

    def test_refusal_is_not_passed_on(self):
        """One that waits asks anew where the first was refused."""
        if not self.joins:
            return
        self.hold.add((rpc.READ, self.file))
        self.client.send(rpc.READ, rpc.read_args(self.file))
        self.wait_held()
        self.second.send(rpc.READ, rpc.read_args(self.file))
        self.joined(self.before + 1)
        self.release(u32(rpc.IO, 0))
        self.assertEqual(rpc.status(self.client.recv()), rpc.IO)
        self.assertEqual(rpc.status(self.second.recv()), 0)


class Strict(Calls):
    """A call that was sent before a request came in does not answer it."""
    # Or the rest of a file would be asked for beside its beginning.
    settings = {"consistency": "strict", "prefetch": "first-block"}
    joins = False


class Trail(Slow):
    """The daemon asks ahead, in the fourth run, for what three runs did."""
    # While the rate of the link is not known, a file comes in pieces. Each is
    # confirmed by an ACCESS, since no right is kept. It counts from when it was
    # sent, so one that is held for longer than attr_timeout is sent again; and
    # all have to be older than that when a run begins.
    settings = {"attr_timeout": "700ms", "grant_timeout": "0", "link": "wired"}
    names = (b"f0", b"f1", b"f2", b"f3", b"f4", b"f5")

    def setUp(self):
        super().setUp()
        for _ in range(3):
            for name in self.names:
                self.use(name)
            time.sleep(PAUSE)
        self.late = fh(b"f3")

    def use(self, name):
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(name))
        self.client.nfs(rpc.ACCESS, rpc.access_args(fh(name)))
        self.read_by(self.client, name)

    def run_until_held(self, proc):
        self.hold.add((proc, self.late))
        self.use(b"f0")
        self.use(b"f1")
        self.wait_held()
        self.mine = self.seen(proc, self.late)
        self.before = self.ff.counter("calls_joined")

    def test_access(self):
        self.run_until_held(rpc.ACCESS)
        xid = self.client.send(rpc.ACCESS, rpc.access_args(self.late))
        self.joined(self.before + 1)
        self.release()
        reply = self.client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (xid, 0))
        self.assertEqual(self.seen(rpc.ACCESS, self.late), self.mine)
        self.assertGreater(self.ff.counter("prefetch_late"), 0)

    def test_read(self):
        """Of a file that has changed."""
        self.version[self.late] = 1
        self.run_until_held(rpc.READ)
        xid = self.client.send(rpc.READ, rpc.read_args(self.late, 0, SIZE))
        self.joined(self.before + 1)
        self.release()
        reply = self.client.recv()
        self.assertEqual((reply.xid, rpc.status(reply)), (xid, 0))
        r = rpc.Reader(reply.body)
        r.u32()
        self.assertEqual(self.data(r), rpc.pattern(0, SIZE))
        self.assertEqual(self.seen(rpc.READ, self.late), self.mine)

    def test_read_of_nonsense(self):
        """More data than was asked for: the client never sees it."""
        self.version[self.late] = 1
        self.run_until_held(rpc.READ)
        self.client.send(rpc.READ, rpc.read_args(self.late, 0, SIZE))
        self.joined(self.before + 1)
        lie = rpc.pattern(8, 2 * SIZE)
        self.release(u32(0, 1) + self.attr(self.late) + u32(len(lie), 1) +
                     opaque(lie))
        r = rpc.Reader(self.client.recv().body)
        self.assertEqual(r.u32(), 0)
        self.assertEqual(self.data(r), rpc.pattern(0, SIZE))

    def test_stale(self):
        """The file is gone: who asks for it hears it from the server."""
        self.run_until_held(rpc.ACCESS)
        self.client.send(rpc.ACCESS, rpc.access_args(self.late))
        self.joined(self.before + 1)
        self.up.script(rpc.ACCESS, u32(70, 0))
        self.release(u32(70, 0))
        self.assertEqual(rpc.status(self.client.recv()), 70)
        self.up.script(rpc.ACCESS, self.answer)


if __name__ == "__main__":
    daemon.main()
