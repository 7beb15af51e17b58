#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hints: their order, what the reader has passed, whose rights they have, and
hints that are wrong, too many, or left behind."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32
from tree import Control, Tree, fh, field, place

BAD_REQUEST, BUSY, NOT_PERMITTED, NO_SUCH_PLACE = 1, 5, 7, 9
NOENT, ACCES, STALE = 2, 13, 70
ITEMS_MAX, STREAMS = 2048, 32
NAMES = {1: "accepted", 2: "room", 3: "reached", 4: "waiting", 5: "ahead",
         6: "used", 7: "passed", 8: "unused", 9: "failed", 10: "full"}


def hint(seq, path=b"", offset=0, length=0, handle=b""):
    return field(2, field(1, seq) + field(2, path) + field(3, handle) +
                 field(4, offset) + field(5, length))


def name(i):
    return b"f%03d" % i


def number(handle):
    return int(handle[4:].rstrip(b"."))


class Stream:
    """A connection that has begun a stream."""

    def __init__(self, ff, path=b""):
        self.control = Control(ff)
        self.first = self.ask(field(1, place(ff, path)))

    def ask(self, body=b""):
        got = self.control.ask(24, body)
        if -1 in got:
            return {"error": got[-1]}
        return {name: got.get(n, 0) for n, name in NAMES.items()}

    def hints(self, *hints):
        return self.ask(b"".join(hints))

    def cancel(self, seq):
        return self.ask(field(3, seq))

    def told(self, **want):
        """Wait until the counts are such."""
        def such():
            got = self.ask()
            return all(got[k] == v for k, v in want.items()) and got
        try:
            return poll(such, repr(want))
        except AssertionError as e:
            raise AssertionError("%s; %r" % (e, self.ask()))

    def close(self):
        self.control.close()


class Hints(Tree):
    # One connection, so that calls come in their order.
    settings = {"connections": 1, "daemon": {"cache_size": "64M"}}
    size = 8192
    uid = os.getuid()

    def setUp(self):
        super().setUp()
        self.streams, self.held = [], []
        self.refuse = set()
        self.up.script(rpc.LOOKUP, self.lookup)
        self.up.script(rpc.GETATTR, self.getattr)
        self.me = self.connect()
        self.mine = rpc.auth_sys(uid=self.uid, gid=os.getgid())
        self.other = rpc.auth_sys(uid=self.uid + 1)
        self.mount()

    def tearDown(self):
        self.release()
        for s in self.streams:
            s.close()
        self.bystander_alive()
        poll(lambda: self.ff.control("stats")["gauges"]["prefetch_wants"] == 0,
             "no wants are left")

    def stream(self, **kw):
        s = Stream(self.ff, **kw)
        self.streams.append(s)
        return s

    def mount(self):
        self.me.call(rpc.MNT, opaque(b"/srv"), prog=rpc.MOUNT)

    # ---- the server

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        what = r.opaque()
        if what.startswith(b"none"):
            return u32(NOENT, 1) + self.attr(b"root")
        return u32(0) + opaque(fh(what)) + u32(1) + self.attr(what) + u32(0)

    def getattr(self, call):
        return u32(0) + self.attr(self.name_of(call.reader().opaque()))

    def attr(self, what):
        """The same in all answers about an object: others would mean that
        it has changed, and its rights would have to be asked for again."""
        if what == b"root" or what.startswith(b"dir"):
            return rpc.fattr(rpc.DIR)  # as page() shows them
        if what[:1] == b"f" and what[1:].isdigit():
            return rpc.fattr(rpc.REG, 1000 + number(fh(what)), size=self.size)
        return super().attr(what)

    def uid_of(self, call):
        r = rpc.Reader(call.cred[1])
        r.u32()
        r.opaque()
        return r.u32()

    def access(self, call):
        r = call.reader()
        handle = r.opaque()
        mask = 0 if self.uid_of(call) in self.refuse else 63
        return (u32(0, 1) + self.attr(self.name_of(handle)) +
                u32(r.u32() & mask))

    def read(self, call):
        if self.uid_of(call) in self.refuse:
            return u32(ACCES, 0)
        r = call.reader()
        what = self.name_of(r.opaque())
        offset, count = r.u64(), r.u32()
        n = max(0, min(count, self.size - offset))
        return (u32(0, 1) + self.attr(what) +
                u32(n, int(offset + n >= self.size)) +
                opaque(rpc.pattern(offset, n)))

    def hold(self):
        """READs are not answered until release()."""
        def hold(call):
            self.held.append(call)
            return HOLD
        self.up.script(rpc.READ, hold)

    def release(self):
        self.up.script(rpc.READ, self.read)
        held, self.held = self.held, []
        for call in held:
            call.reply(self.read(call))

    def reads(self):
        """Returns the READs that came: number of the file, offset, count."""
        out = []
        for call in self.up.seen(rpc.READ):
            r = call.reader()
            out.append((number(r.opaque()), r.u64(), r.u32()))
        return out

    def read_file(self, i, cred=None):
        return self.me.nfs(rpc.READ, rpc.read_args(fh(name(i)), 0, 4096),
                           cred=cred or self.mine)[0]

    # ---- order and the reader

    def assertInOrder(self, seen, order):
        """All of them, about where they belong: one that waits for its rights
        lets others pass. Without an order they would be a third of the whole
        length away from there on the average."""
        self.assertEqual(sorted(seen), sorted(order))
        away = sum(abs(order.index(i) - k) for k, i in enumerate(seen))
        self.assertLess(away, len(order) ** 2 / 8, seen)

    def test_order(self):
        order = [(7 * i) % 60 for i in range(60)]
        s = self.stream()
        s.hints(*(hint(k + 1, name(i)) for k, i in enumerate(order)))
        s.told(waiting=0, ahead=60)
        poll(lambda: len({i for i, _, _ in self.reads()}) == 60, "all READs")
        seen = []
        for i, _, _ in self.reads():
            if i not in seen:
                seen.append(i)
        self.assertInOrder(seen, order)

    def test_ranges(self):
        self.size = 1 << 20
        blocks = [(37 * k) % 64 for k in range(64)]
        s = self.stream()
        s.hints(*(hint(k + 1, b"f001", b * 16384, 4096)
                  for k, b in enumerate(blocks)))
        s.told(waiting=0, ahead=64)
        self.up.wait(rpc.READ, 64)
        self.assertInOrder([o // 16384 for _, o, _ in self.reads()], blocks)
        self.assertEqual({n for _, _, n in self.reads()}, {4096})
        self.assertEqual(len(self.up.seen(rpc.LOOKUP)), 1)

    def test_found_then_hit(self):
        s = self.stream()
        s.hints(hint(1, b"dir/f005"), hint(2, b"dir/f006"))
        s.told(waiting=0, ahead=2)
        poll(lambda: self.ff.control("stats")["gauges"]["data_live_bytes"] ==
             2 * self.size, "both are cached")
        before = len(self.up.seen(rpc.READ))
        self.assertEqual(self.read_file(5), 0)
        s.told(used=1, reached=1, ahead=2, passed=0)
        self.assertEqual(self.read_file(6), 0)
        s.told(used=2, reached=2, ahead=1, passed=0)
        self.assertEqual(len(self.up.seen(rpc.READ)), before)

    def test_reader_passes(self):
        """Bytes behind the reader are not asked for any more."""
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i), 0, 4096) for i in range(1, 101)))
        self.up.wait(rpc.READ, 1)
        self.me.send(rpc.READ, rpc.read_args(fh(name(12)), 0, 4096),
                     cred=self.mine)
        mine = lambda: [c for c in self.held
                        if number(c.reader().opaque()) == 12]
        call = poll(mine, "the reader's call")[0]
        asked = {i for i, _, _ in self.reads()}
        self.held.remove(call)
        call.reply(self.read(call))
        got = s.told(reached=12)
        self.assertEqual(got["used"], 1)
        self.assertEqual(got["passed"], 11)
        self.release()
        s.told(waiting=0)
        poll(lambda: {i for i, _, _ in self.reads()} >= set(range(13, 101)),
             "those before the reader")
        later = {i for i, _, _ in self.reads()} - asked
        self.assertEqual(later & set(range(1, 12)), set())

    def test_far_reader(self):
        """A read far ahead may be readahead; one that goes on is no longer."""
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 101)))
        s.told(waiting=0)
        self.read_file(60)
        self.assertEqual(s.told(used=1)["passed"], 0)
        self.read_file(3)
        s.told(used=2, reached=3, passed=2)
        self.read_file(61)
        s.told(used=3, reached=61)

    def test_other_reader(self):
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 11)))
        s.told(waiting=0)
        self.read_file(9, self.other)
        self.read_file(2)
        self.assertEqual(s.told(reached=2)["passed"], 1)

    def test_cancel(self):
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 101)))
        asked = {number(c.reader().opaque())
                 for c in self.up.wait(rpc.READ, 1)}
        got = s.cancel(90)
        self.assertEqual((got["passed"], got["accepted"]), (90, 100))
        self.release()
        s.told(waiting=0)
        for i, _, _ in self.reads():
            self.assertTrue(i > 90 or i in asked or i < 20, i)
        self.assertEqual(s.cancel(1000)["accepted"], 1000)
        self.assertEqual(s.hints(hint(1000, b"f001")), {"error": BAD_REQUEST})
        self.assertEqual(s.hints(hint(1001, b"f001"))["accepted"], 1001)

    def test_ahead_is_bounded(self):
        """The reader is waited for, and more is taken when it goes on."""
        self.size = 1 << 20
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 201)))
        got = s.told(full=1)
        self.assertLess(got["ahead"], 100)
        self.assertGreater(got["waiting"], 100)
        n = got["ahead"]
        for i in range(1, 4):
            self.read_file(i)
        poll(lambda: s.ask()["ahead"] + 3 > n + 1, "it goes on")

    def test_behind_the_reader(self):
        """What was cached before does not wait for a reader who has passed, so
        a long list of it comes to its end."""
        s, n = self.stream(), ITEMS_MAX + 1000
        s.hints(hint(1, name(1)))
        s.told(waiting=0)
        self.read_file(1)
        s.told(used=1)
        seq = 1
        def all_taken():
            nonlocal seq
            seq = s.hints(*(hint(k, name(1), k, 4) for k in
                            range(seq + 1, min(seq + 500, n) + 1)))["accepted"]
            return seq == n
        poll(all_taken, "all hints are taken")
        s.told(waiting=0, failed=0)

    # ---- rights

    def test_credential(self):
        groups = os.getgroups()
        s = self.stream()
        s.hints(hint(1, b"dir/f001"))
        s.told(waiting=0)
        for proc in (rpc.LOOKUP, rpc.ACCESS, rpc.READ):
            for call in self.up.seen(proc):
                r = rpc.Reader(call.cred[1])
                r.u32()
                r.opaque()
                self.assertEqual(r.u32(), self.uid)
                self.assertEqual(r.u32(), os.getgid())
                self.assertEqual([r.u32() for _ in range(r.u32())],
                                 groups[:16])

    def test_grants_nothing(self):
        """Bytes that were fetched for one user are not another's."""
        s = self.stream()
        s.hints(hint(1, b"f001"))
        s.told(waiting=0, ahead=1)
        self.refuse.add(self.uid + 1)
        self.assertEqual(self.read_file(1, self.other), ACCES)
        st, r = self.me.nfs(rpc.ACCESS, rpc.access_args(fh(b"f001")),
                            cred=self.other)
        r.u32(), r.fixed(84)
        self.assertEqual((st, r.u32()), (0, 0))
        self.assertEqual(self.read_file(1), 0)

    def test_refused(self):
        self.refuse.add(self.uid)
        self.size = 1 << 20
        s = self.stream()
        s.hints(hint(1, b"f001"))
        self.assertEqual(s.told(waiting=0)["failed"], 1)
        self.assertLess(len(self.reads()), 40)

    def test_search_is_asked(self):
        """A name that another has looked up leads on only with a right."""
        for args in (b"dir",), (b"f001", fh(b"dir")):
            self.me.nfs(rpc.LOOKUP, rpc.lookup_args(*args), cred=self.other)
        asked = len(self.up.seen(rpc.LOOKUP))
        s = self.stream()
        s.hints(hint(1, b"dir/f001"))
        s.told(waiting=0, ahead=1)
        mine = [c for c in self.up.seen(rpc.LOOKUP)[asked:]
                if self.uid_of(c) == self.uid]
        self.assertEqual(len(mine), 2)

    # ---- what is wrong

    def test_garbage(self):
        s = self.stream()
        bad = [b"..", b"a/../b", b"/f001", b"a//b", b"f001/", b".", b"\0",
               b"f" * 256, b"a/" * 3000 + b"f001", b"", b"none", b"none/x",
               b"f001/f002", b"dir"]
        got = s.hints(*(hint(i + 1, p) for i, p in enumerate(bad)))
        self.assertEqual(got["accepted"], len(bad))
        s.told(waiting=0, failed=len(bad))
        s.hints(hint(100, b"f001", 1 << 63, 1 << 63),
                hint(101, b"f001", (1 << 64) - 1, 1),
                hint(102, handle=b"x" * 65), hint(103, handle=b"x"),
                hint(104, b"f001", 1 << 62, 1 << 62), hint(105, b"f001"))
        got = s.told(waiting=0, ahead=2)
        self.assertEqual(got["failed"], len(bad) + 4)
        self.assertEqual(len(self.reads()), len(set(self.reads())))

    def test_order_of_numbers(self):
        s = self.stream()
        self.assertEqual(s.hints(hint(0, b"f001")), {"error": BAD_REQUEST})
        s.hints(hint(5, b"f001"))
        for seq in (5, 4, 0):
            self.assertEqual(s.hints(hint(seq, b"f002")),
                             {"error": BAD_REQUEST})
        self.assertEqual(s.hints(hint(6, b"f002"))["accepted"], 6)

    def test_no_stream(self):
        c = Control(self.ff)
        self.assertEqual(c.ask(24, hint(1, b"f001")), {-1: BAD_REQUEST})
        self.assertEqual(c.ask(24), {-1: BAD_REQUEST})
        self.assertEqual(c.ask(24, field(1, field(
            1, b"127.0.0.1:1") + field(2, b"/srv"))), {-1: NO_SUCH_PLACE})
        self.assertEqual(c.ask(24, field(1, field(
            1, b"127.0.0.1:%d" % self.ff.port) + field(2, b"/other"))),
            {-1: NO_SUCH_PLACE})
        c.close()

    def test_handles(self):
        """Only of files that the proxy has heard of."""
        s = self.stream()
        s.hints(hint(1, handle=fh(b"f009")))
        self.assertEqual(s.told(waiting=0)["failed"], 1)
        self.me.nfs(rpc.LOOKUP, rpc.lookup_args(b"f009"), cred=self.mine)
        s.hints(hint(2, handle=fh(b"f009")))
        s.told(waiting=0, ahead=1, failed=1)
        poll(lambda: {i for i, _, _ in self.reads()} == {9}, "its bytes")

    def test_gone(self):
        s = self.stream()
        s.hints(hint(1, b"f001"))
        s.told(waiting=0)
        self.up.script(rpc.ACCESS, u32(STALE, 0))
        self.up.script(rpc.READ, u32(STALE, 0))
        s.hints(*(hint(i, name(i)) for i in range(2, 30)))
        s.told(waiting=0)
        self.up.script(rpc.ACCESS, self.access)
        self.up.script(rpc.READ, self.read)
        s.hints(hint(100, b"f050"))
        s.told(waiting=0, accepted=100)
        poll(lambda: 50 in {i for i, _, _ in self.reads()}, "the next one")

    def test_malformed(self):
        for proc, bad in ((rpc.LOOKUP, u32(0)), (rpc.ACCESS, b""),
                          (rpc.READ, u32(0, 0, 9, 0))):
            self.up.script(proc, bad)
            s = self.stream()
            s.hints(*(hint(i, name(i)) for i in range(1, 10)))
            s.told(waiting=0)
            s.close()
            self.up.script(proc, getattr(self, {
                rpc.LOOKUP: "lookup", rpc.ACCESS: "access",
                rpc.READ: "read"}[proc]))
            self.ff.control("drop")
            self.mount()

    # ---- too many, and what is left

    def test_too_many_hints(self):
        self.hold()
        s = self.stream()
        seq = 0
        while seq < ITEMS_MAX + 500:
            got = s.hints(*(hint(seq + k, name(k), k, 1)
                            for k in range(1, 501)))
            if got["accepted"] < seq + 500:
                break
            seq = got["accepted"]
        self.assertLessEqual(got["accepted"], ITEMS_MAX)
        self.assertEqual(got["room"], 0)
        self.assertEqual(s.hints(hint(ITEMS_MAX + 1, b"f001"))["accepted"],
                         got["accepted"])
        self.assertGreater(s.cancel(got["accepted"] - 5)["room"], 2000)

    def test_long_paths(self):
        self.up.script(rpc.LOOKUP, HOLD)
        s = self.stream()
        long = b"/".join([b"d" * 200] * 20)
        accepted = 0
        for k in range(1, 200):
            got = s.hints(hint(k, long + b"/%d" % k))
            if got["accepted"] < k:
                break
            accepted = k
        self.assertLess(accepted, 70)
        self.assertEqual(got["room"], 0)

    def test_too_many_streams(self):
        got = [self.stream() for _ in range(STREAMS + 1)]
        self.assertEqual(got[-1].first, {"error": BUSY})
        got[0].close()
        poll(lambda: "error" not in self.stream().first, "there is room again")

    def test_another_begins(self):
        """In place of the former one."""
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 101)))
        self.up.wait(rpc.READ, 1)
        got = s.ask(field(1, place(self.ff, b"dir")) + hint(1, b"f200"))
        self.assertEqual((got["accepted"], got["passed"]), (1, 0))
        self.release()
        s.told(waiting=0, ahead=1)

    def test_another_cannot_begin(self):
        """The former one has ended all the same."""
        s = self.stream()
        got = s.ask(field(1, field(1, b"127.0.0.1:1") + field(2, b"/none")))
        self.assertEqual(got, {"error": NO_SUCH_PLACE})
        self.assertEqual(s.ask(b""), {"error": BAD_REQUEST})

    def test_disconnect(self):
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 101)))
        self.up.wait(rpc.READ, 1)
        s.close()
        poll(lambda: self.ff.control("stats")["gauges"]["prefetch_wants"] == 0,
             "its wants are gone")
        asked = {i for i, _, _ in self.reads()}
        self.release()
        self.stream().hints(hint(1, b"f500"))
        poll(lambda: 500 in {i for i, _, _ in self.reads()}, "the next one")
        self.assertEqual({i for i, _, _ in self.reads()}, asked | {500})

    def test_half_a_request(self):
        s = self.stream()
        req = field(1, 1) + field(24, hint(1, b"f001"))
        s.control.sock.sendall(struct.pack(">I", len(req)) + req[:10])
        s.close()
        self.stream().told(accepted=0)

    def test_reload_and_flush(self):
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 51)))
        self.up.wait(rpc.READ, 1)
        self.ff.write_config(attr_timeout="5s")
        self.assertIn("reloaded", self.ff.hup())
        self.ff.control("drop")
        self.release()
        s.told(waiting=0)

    def test_stop(self):
        self.hold()
        s = self.stream()
        s.hints(*(hint(i, name(i)) for i in range(1, 51)))
        self.up.wait(rpc.READ, 1)
        self.ff.stop()
        self.release()
        self.ff.start()


class Off(daemon.Case):
    settings = {"prefetch": "off"}

    def test_off(self):
        with self.ff.connect() as c:
            c.call(rpc.MNT, opaque(b"/srv"), prog=rpc.MOUNT)
        s = Stream(self.ff)
        self.assertEqual(s.first, {"error": NOT_PERMITTED})
        s.close()


if __name__ == "__main__":
    daemon.main()
