#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Some requests take the daemon many turns to answer, while servers come, are
replaced and leave: each answer is whole, and nobody's connection ends for
it."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import rpc
from case_reload import Reloads
from daemon import poll
from rpc import opaque
from tree import Control, Tree, cookie_of, entry, field, page, place

FILES = 3200  # sizes of so many take several turns
ACTIVITY, PIN, TREES = 29, 23, 21


class Turns(Reloads, Tree):
    size = 8

    def setUp(self):
        super().setUp()
        self.up.script(rpc.READDIRPLUS, self.files)
        self.set_up_reloads()
        self.ended = False
        self.wrong = []
        self.asked = 0
        with self.ff.connect() as c:
            c.call(rpc.MNT, opaque(b"/srv"), prog=rpc.MOUNT)

    def files(self, call):
        _, first = cookie_of(call)
        last = min(first + 100, FILES)
        return page([entry(b"file%d" % i, i + 1, self.attr(b"file"))
                     for i in range(first, last)], last == FILES)

    def attr(self, name):
        kind = rpc.DIR if name in (b"root", b"dir") else rpc.REG
        return rpc.fattr(kind, 300 + int(name[4:] or 0) if kind == rpc.REG
                         else 7, size=self.size)

    def pin(self):
        with_pin = Control(self.ff)
        self.addCleanup(with_pin.close)
        self.assertIn(1, with_pin.ask(PIN, field(1, 1) +
                                      field(2, place(self.ff))))
        poll(lambda: self.ff.control("stats")["gauges"]["data_pinned_bytes"]
             >= FILES * self.size, "all is pinned and there", 60)

    def over_and_over(self, command, body):
        control = Control(self.ff)
        try:
            while not self.ended:
                got = control.ask(command, body)
                self.asked += 1
                if -1 in got:
                    self.wrong.append((command, got))
        except OSError as error:
            self.wrong.append((command, error))
        except EOFError:
            self.wrong.append((command, "closed"))
        control.close()

    def test_servers_come_and_go(self):
        self.pin()
        asking = [threading.Thread(target=self.over_and_over, args=a)
                  for a in ((PIN, b""), (ACTIVITY, b""),
                            (TREES, field(1, b"nas")),
                            (ACTIVITY, field(1, b"nas") + field(2, 1)))]
        for t in asking:
            t.start()
        try:
            ports = [fakeserver.free_port() for _ in range(8)]
            for i, port in enumerate(ports):
                self.put("s%d" % i, port)
                self.reload()
            for i, port in enumerate(ports):
                self.put("s%d" % i, port, connections=3)
                self.reload()
            for i in range(8):
                os.unlink(self.own + "/s%d.conf" % i)
                self.reload()
        finally:
            self.ended = True
            for t in asking:
                t.join()
        self.assertEqual(self.wrong, [])
        self.assertGreater(self.asked, 100)
        self.assertEqual(len(self.servers()), 1)


if __name__ == "__main__":
    daemon.main()
