#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon asks ahead of a reader inside a file: for what follows if he goes
on as he does, for no more than that, and for nothing where it is not
wanted."""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32

FILE = b"fh-large........"
BLOCK = 4096
BLOCKS = 4096
SIZE = BLOCK * BLOCKS
GRAIN = 0.02  # seconds; data of a version that is newer waits
PAUSE = 0.8   # seconds of silence, behind which a run begins


class Reader(daemon.Case):
    settings = {"prefetch": "on"}

    def setUp(self):
        super().setUp()
        self.asked = set()
        self.ctime = 5
        self.refuse = set()  # blocks
        self.held = None     # calls, where READs are kept back
        self.up.script(rpc.GETATTR, lambda call: u32(0) + self.attr())
        self.up.script(rpc.ACCESS, self.access)
        self.up.script(rpc.READ, self.answer)
        self.client = self.connect()
        self.open()

    def open(self):
        self.client.nfs(rpc.GETATTR, opaque(FILE))
        time.sleep(GRAIN)

    # ---- the server

    def attr(self):
        return rpc.fattr(rpc.REG, 100, SIZE, ctime=(self.ctime, 77))

    def access(self, call):
        r = call.reader()
        r.opaque()
        return u32(0, 1) + self.attr() + u32(r.u32())

    def answer(self, call):
        if self.held is not None:
            self.held.append(call)
            return HOLD
        return self.results(call)

    def release(self):
        held, self.held = self.held, None
        for call in held:
            call.reply(self.results(call))

    def results(self, call):
        r = call.reader()
        r.opaque()
        offset, count = r.u64(), r.u32()
        if offset // BLOCK in self.refuse:
            return u32(rpc.IO, 0)
        n = max(0, min(count, SIZE - offset))
        return (u32(0, 1) + self.attr() + u32(n, int(offset + n == SIZE)) +
                opaque(rpc.pattern(offset, n)))

    def seen(self):
        """Blocks that the server was asked for."""
        blocks = []
        for call in self.up.seen(rpc.READ):
            r = call.reader()
            r.opaque()
            blocks.append(r.u64() // BLOCK)
        return blocks

    def ahead(self):
        return set(self.seen()) - self.asked

    # ---- the reader

    def status_of(self, block):
        self.asked.add(block)
        st, r = self.client.nfs(
            rpc.READ, rpc.read_args(FILE, block * BLOCK, BLOCK))
        if st == 0:
            if r.u32():
                r.fixed(84)
            self.assertEqual(r.u32(), BLOCK)
            r.u32()
            self.assertEqual(r.opaque(), rpc.pattern(block * BLOCK, BLOCK))
        return st

    def read(self, blocks):
        for block in blocks:
            self.assertEqual(self.status_of(block), 0)

    def nothing_ahead(self):
        self.assertEqual(self.ff.counter("pattern_told"), 0)
        self.assertEqual(self.ahead(), set())


class Followed(Reader):
    def follows(self, blocks, then):
        self.read(blocks)
        poll(lambda: then in self.ahead(), "block %d is asked ahead" % then)
        self.read([then])
        self.assertEqual(self.seen().count(then), 1)

    def test_backward(self):
        self.follows(range(1000, 988, -1), 988)

    def test_stride(self):
        self.follows(range(0, 192, 16), 192)

    def test_stride_back(self):
        self.follows(range(4000, 3700, -25), 3700)

    def test_rays(self):
        self.follows([x + 100 * y for x in range(4) for y in range(5)], 4)

    def test_forward_in_lockstep(self):
        self.follows(range(12), 12)

    def test_irregular_but_as_before(self):
        order = random.Random(3).sample(range(BLOCKS), 60)
        self.read(order)
        self.nothing_ahead()
        # Another version: nothing of it is cached.
        self.ctime += 1
        before = len(self.seen())
        time.sleep(PAUSE)
        self.open()
        self.read(order[:20])
        poll(lambda: order[20] in self.seen()[before:], "it is asked ahead")
        self.assertGreater(self.ff.counter("pattern_hits"), 10)


class Bounded(Reader):
    def test_random(self):
        blocks = random.Random(5).choices(range(BLOCKS), k=400)
        self.read(blocks)
        self.assertLess(self.ff.counter("pattern_told"), 20)
        self.assertLess(len(self.ahead()), 20)

    def test_broken(self):
        self.read(range(1000, 960, -1))
        self.held = []
        self.asked.add(960)
        self.client.send(rpc.READ, rpc.read_args(FILE, 960 * BLOCK, BLOCK))
        poll(lambda: self.held or self.ff.counter("pattern_hits") == 37,
             "the last of them is on its way")
        self.release()
        self.client.recv()
        self.read([3000])
        poll(lambda: self.ff.counter("pattern_broken") == 1, "it is broken")
        told = self.ff.counter("pattern_told")
        self.read(random.Random(7).sample(range(2000, 4000), 50))
        self.assertLess(self.ff.counter("pattern_told"), told + 10)
        # Never far ahead of where it ended, if at all, and nothing since.
        self.assertGreater(min(self.ahead(), default=960), 960 - 66)

    def test_refused(self):
        """A piece that fails ahead fails once more when it is asked for, and
        no more than that."""
        self.refuse = {990}
        self.read(range(1000, 990, -1))
        self.assertEqual(self.status_of(990), rpc.IO)
        self.refuse = set()
        self.read(range(990, 950, -1))

    def test_file_grows_shorter(self):
        """Beyond the end there is nothing to ask for."""
        self.read(range(BLOCKS - 40, BLOCKS, 3))
        self.assertTrue(all(b < BLOCKS for b in self.seen()))


class Others(Reader):
    def test_overlapping(self):
        """Whoever reads ahead himself is left alone. He begins within the
        file: of one that is begun at its beginning, the rest may be asked as
        far as files of its kind are read, and that is no pattern."""
        blocks = range(1000, 1040)
        self.asked.update(blocks)
        # Else a slow machine may answer each before the next is sent.
        self.held = []
        xids = [self.client.send(
            rpc.READ, rpc.read_args(FILE, i * BLOCK, BLOCK)) for i in blocks]
        poll(lambda: len(self.held) == len(blocks), "all are asked for at once")
        self.release()
        got = {self.client.recv().xid for _ in xids}
        self.assertEqual(got, set(xids))
        self.nothing_ahead()


class Off(Reader):
    settings = {"prefetch": "off"}

    def test_backward(self):
        self.read(range(1000, 950, -1))
        self.nothing_ahead()


class FirstBlock(Off):
    settings = {"prefetch": "first-block"}


class Strict(Off):
    settings = {"consistency": "strict"}


if __name__ == "__main__":
    daemon.main()
