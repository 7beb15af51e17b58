#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""READs in pieces, on a link that is said to be slow: whatever server and
clients do meanwhile, the bytes are right and nobody else suffers."""
import time

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32

FILE = b"fh-large........"
SIZE = 1 << 20
PIECE = 16384
GRAIN = 0.02  # seconds; a version that is newer is read whole


class Pieces(daemon.Case):
    settings = {"link": "wireless", "prefetch": "off"}

    def setUp(self):
        super().setUp()
        self.held = []
        self.hold = set()  # offsets of READs that are kept back
        self.ctime = 5
        self.up.script(rpc.GETATTR, lambda call: u32(0) + self.attr())
        self.up.script(rpc.READ, self.read)
        self.client = self.connect()
        self.client.nfs(rpc.GETATTR, opaque(FILE))
        time.sleep(GRAIN)

    def tearDown(self):
        """Nobody has been harmed."""
        self.hold.clear()
        with self.ff.connect() as c:
            self.ask(c)
            self.right(c)

    def attr(self):
        return rpc.fattr(rpc.REG, 100, SIZE, ctime=(self.ctime, 77))

    def results(self, call):
        r = call.reader()
        r.opaque()
        offset, count = r.u64(), r.u32()
        n = max(0, min(count, SIZE - offset))
        return (u32(0, 1) + self.attr() + u32(n, int(offset + n == SIZE)) +
                opaque(rpc.pattern(offset, n)))

    def read(self, call):
        r = call.reader()
        r.opaque()
        if r.u64() in self.hold:
            self.held.append(call)
            return HOLD
        return self.results(call)

    def wait_held(self):
        poll(lambda: self.held, "a piece is held")

    def release(self):
        self.hold.clear()
        held, self.held = self.held, []
        for call in held:
            call.reply(self.results(call))

    def ask(self, client, offset=0, count=SIZE):
        return client.send(rpc.READ, rpc.read_args(FILE, offset, count))

    def right(self, client, offset=0, count=SIZE):
        reply = client.recv()
        self.assertEqual(rpc.status(reply), 0)
        r = rpc.Reader(reply.body)
        self.assertEqual(r.u32(), 0)
        if r.u32():
            r.fixed(84)
        self.assertEqual(r.u32(), count)
        self.assertEqual(r.u32(), int(offset + count == SIZE))
        self.assertEqual(r.opaque(), rpc.pattern(offset, count))

    def split(self, n=1, whole=0):
        self.assertEqual(self.ff.counter("reads_split"), n)
        self.assertEqual(self.ff.counter("reads_whole"), whole)

    def test_all_of_it(self):
        self.ask(self.client)
        self.right(self.client)
        self.split()
        self.assertEqual(self.ff.counter("read_pieces"), SIZE // PIECE)

    def test_small_call_passes(self):
        self.hold.add(0)
        self.ask(self.client)
        self.wait_held()
        other = self.connect()
        self.assertEqual(other.nfs(rpc.ACCESS, rpc.access_args())[0], 0)
        self.release()
        self.right(self.client)
        self.split()

    def test_behind_the_end(self):
        self.ask(self.client, SIZE - PIECE - 1, 8 * PIECE)
        self.right(self.client, SIZE - PIECE - 1, PIECE + 1)
        self.split()

    def test_changed_in_between(self):
        self.hold.add(PIECE)
        self.ask(self.client)
        self.wait_held()
        self.ctime += 1
        self.release()
        self.right(self.client)
        self.split(whole=1)

    def test_no_attributes(self):
        self.up.script(rpc.READ, None)
        self.client.send(rpc.READ, rpc.read_args(FILE, 0, 8 * PIECE))
        self.right(self.client, 0, 8 * PIECE)
        self.split(whole=1)
        self.up.script(rpc.READ, self.read)

    def refuse(self, at):
        self.up.script(rpc.READ, lambda call: u32(rpc.ACCES, 0)
                       if self.offset(call) == at and self.count(call) == PIECE
                       else self.read(call))

    def offset(self, call):
        r = call.reader()
        r.opaque()
        return r.u64()

    def count(self, call):
        r = call.reader()
        r.opaque()
        r.u64()
        return r.u32()

    def test_first_piece_is_refused(self):
        self.refuse(0)
        self.ask(self.client)
        self.assertEqual(rpc.status(self.client.recv()), rpc.ACCES)
        self.split()
        self.up.script(rpc.READ, self.read)

    def test_later_piece_is_refused(self):
        self.refuse(2 * PIECE)
        self.ask(self.client)
        self.right(self.client)
        self.split(whole=1)

    def test_later_piece_is_garbage(self):
        self.up.script(rpc.READ, lambda call: b"\xff" * 40
                       if self.offset(call) == PIECE else self.read(call))
        self.ask(self.client)
        self.right(self.client)
        self.split(whole=1)

    def test_connection_is_lost(self):
        self.hold.add(PIECE)
        self.ask(self.client)
        self.wait_held()
        self.held = []
        self.hold.clear()
        self.up.reset_all()
        self.right(self.client)
        self.split()

    def test_client_closes(self):
        for at, close in ((0, "close"), (SIZE // 2, "abort")):
            self.hold.update((at, at + PIECE))
            gone = self.connect()
            self.ask(gone, at, SIZE // 2)
            self.wait_held()
            getattr(gone, close)()
            self.ff.clients(1)
            self.release()

    def test_two_readers(self):
        self.hold.add(0)
        self.ask(self.client)
        self.wait_held()
        other = self.connect()
        self.ask(other)
        self.ask(other, SIZE - PIECE, PIECE)
        self.release()
        self.right(self.client)
        got = sorted((other.recv() for _ in range(2)),
                     key=lambda reply: len(reply.body))
        self.assertEqual([rpc.status(reply) for reply in got], [0, 0])
        self.assertTrue(got[0].body.endswith(rpc.pattern(SIZE - PIECE, PIECE)))
        self.assertTrue(got[1].body.endswith(rpc.pattern(0, SIZE)))

    def test_rest(self):
        """The beginning is there already; the rest comes in pieces."""
        self.ask(self.client, 0, PIECE)
        self.right(self.client, 0, PIECE)
        self.ask(self.client)
        self.right(self.client)

    def test_stop(self):
        self.hold.update((0, PIECE))
        self.ask(self.client)
        self.wait_held()
        self.ff.stop()
        self.hold.clear()
        self.ff.start()


if __name__ == "__main__":
    daemon.main()
