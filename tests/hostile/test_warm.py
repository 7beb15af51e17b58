#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetch warm before a server that lies, loops, refuses or is silent, and
for programs that go away in the middle of it."""
import time

import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32
from tree import Control, Tree, cookie_of, entry, field, page, place

BAD_COOKIE, ACCES = 10003, 13

NAMES = {1: "done", 2: "status", 5: "directories", 6: "files", 7: "others",
         8: "file_bytes", 10: "calls", 11: "refused", 12: "failed",
         13: "left", 17: "loops"}


class Warm:
    """A connection that has begun a walk."""

    def __init__(self, ff, path=b"", metadata=False):
        self.control = Control(ff)
        self.first = self.ask(
            field(1, place(ff, path)) + field(2, int(metadata)))

    def ask(self, body=b""):
        got = self.control.ask(19, body)
        if -1 in got:
            return {"error": got[-1]}
        return {name: got.get(n, 0) for n, name in NAMES.items()}

    def end(self):
        return poll(lambda: self.finished(), "the walk ends")

    def finished(self):
        p = self.ask()
        return p if p["done"] else None

    def close(self):
        self.control.close()


class Walks(Tree):
    def setUp(self):
        super().setUp()
        self.warms = []

    def tearDown(self):
        for w in self.warms:
            w.close()
        self.bystander_alive()

    def warm(self, *args, **kw):
        w = Warm(self.ff, *args, **kw)
        self.warms.append(w)
        return w

    def test_tree(self):
        p = self.warm().end()
        self.assertEqual((p["directories"], p["files"], p["others"]), (2, 2, 1))
        self.assertEqual(p["file_bytes"], 2 * self.size)
        self.assertEqual((p["refused"], p["failed"], p["status"]), (0, 0, 0))
        reads = len(self.up.seen(rpc.READ))
        poll(lambda: self.ff.control("stats")["gauges"]["data_live_bytes"] ==
             2 * self.size, "all of it is cached")
        time.sleep(0.05)  # so that a tick has passed
        p = self.warm().end()
        self.assertEqual(p["files"], 2)
        again = len(self.up.seen(rpc.READ)) - reads
        self.assertLessEqual(again, reads)

    def test_metadata(self):
        p = self.warm(metadata=True).end()
        self.assertEqual((p["files"], p["failed"]), (2, 0))
        self.assertEqual(self.up.seen(rpc.READ), [])

    def test_refused_data(self):
        self.up.script(rpc.READ, u32(ACCES, 0))
        p = self.warm().end()
        self.assertEqual((p["refused"], p["failed"]), (2, 0))
        self.up.script(rpc.READ, self.read)

    def test_refused_listing(self):
        self.up.script(rpc.READDIRPLUS, u32(ACCES, 0))
        p = self.warm().end()
        self.assertEqual((p["refused"], p["directories"]), (1, 0))

    def test_malformed(self):
        good = page([entry(b"file", 4, self.attr(b"file"))])
        for bad in (good[:60], u32(0), b"", good[:-8] + u32(7, 7),
                    page([entry(b"x" * 300, 1, self.attr(b"file"))])):
            self.up.script(rpc.READDIRPLUS, bad)
            p = self.warm().end()
            self.assertEqual((p["failed"], p["files"]), (1, 0), bad)
            self.assertEqual(self.ff.control("drop")["name"], "nas")

    def test_no_handles(self):
        """Entries without handles are looked up, and may be gone."""
        self.up.make(b"named", rpc.REG)
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"named", 1, self.attr(b"file"), False),
             entry(b"gone", 2, self.attr(b"file"), False)]))
        p = self.warm(metadata=True).end()
        self.assertEqual((p["files"], p["failed"]), (1, 0))

    def test_bad_cookies(self):
        """A listing that cannot go on is begun anew, but not for ever."""
        self.up.script(rpc.READDIRPLUS, lambda c: (
            page([entry(b"link", 3, self.attr(b"link"))], False)
            if cookie_of(c)[1] == 0 else u32(BAD_COOKIE, 0)))
        p = self.warm().end()
        self.assertEqual(p["failed"], 1)
        self.assertLess(p["calls"], 40)

    def test_same_cookie(self):
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"link", 3, self.attr(b"link"))], False))
        p = self.warm().end()
        self.assertLess(p["calls"], 10)

    def test_loop(self):
        """Directories that hold themselves and each other: each is entered
        once."""
        self.up.script(rpc.READDIRPLUS, lambda c: page(
            [entry(b"dir", 1, self.attr(b"dir")),
             entry(b"dir2", 2, self.attr(b"dir")),
             entry(b"file", 3, self.attr(b"file"))]))
        p = self.warm(metadata=True).end()
        self.assertEqual((p["directories"], p["loops"], p["failed"]),
                         (3, 4, 0))
        self.assertLess(p["calls"], 20)

    def test_listing_goes_round(self):
        """Pages whose cookies come again and again."""
        def pages(call):
            cookie = cookie_of(call)[1]
            return page([entry(b"link%d" % cookie, cookie % 7 + 1,
                               self.attr(b"link"))], False)
        self.up.script(rpc.READDIRPLUS, pages)
        p = self.warm(metadata=True).end()
        self.assertEqual((p["directories"], p["loops"]), (1, 1))
        self.assertLess(p["calls"], 60)

    def test_same_tree_by_many_ways(self):
        """64 directories, each twice in the one above: 2^64 paths."""
        def level(call):
            name = self.name_of(cookie_of(call)[0])
            n = 0 if name == b"root" else int(name[3:]) + 1
            at = b"dir%d" % n
            return page([entry(at, 1, self.attr(at)),
                         entry(at, 2, self.attr(at))] if n < 64 else [])
        self.up.script(rpc.READDIRPLUS, level)
        p = self.warm(metadata=True).end()
        self.assertEqual((p["directories"], p["loops"]), (65, 64))

    def test_late_reply(self):
        """The program is gone when its walk's calls are answered."""
        self.up.script(rpc.READDIRPLUS, HOLD)
        w = self.warm()
        call = self.up.wait(rpc.READDIRPLUS, 1)[0]
        w.close()
        poll(lambda: not self.ff.control("status")["clients"],
             "nobody is connected")
        call.reply(self.list(call))
        self.up.script(rpc.READDIRPLUS, self.list)
        self.assertEqual(self.warm().end()["files"], 2)

    def test_another_begins(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        w = self.warm()
        held = self.up.wait(rpc.READDIRPLUS, 1)[0]
        w.ask(field(1, place(self.ff, b"nothing")))
        held.reply(self.list(held))
        p = w.end()
        self.assertEqual(p["status"], rpc.NOENT)

    def test_reload_and_flush(self):
        calls = []

        def hold(call):
            calls.append(call)
            return HOLD
        self.up.script(rpc.READ, hold)
        w = self.warm()
        self.up.wait(rpc.READ, 1)
        self.ff.write_config(attr_timeout="5s")
        self.assertIn("reloaded", self.ff.hup())
        self.ff.control("drop")
        self.up.script(rpc.READ, self.read)
        for call in calls:
            call.reply(self.read(call))
        p = w.end()
        self.assertEqual((p["files"], p["failed"]), (2, 0))

    def test_stop(self):
        self.up.script(rpc.READ, HOLD)
        self.warm()
        self.up.wait(rpc.READ, 1)
        self.ff.stop()
        self.up.script(rpc.READ, self.read)
        self.ff.start()

    def test_too_many(self):
        self.up.script(rpc.READDIRPLUS, HOLD)
        got = [self.warm() for _ in range(33)]
        self.assertEqual(got[32].first, {"error": 5})
        got[0].close()
        poll(lambda: "error" not in self.warm().first, "there is room again")


if __name__ == "__main__":
    daemon.main()
