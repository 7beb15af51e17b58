#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers come, change and go while everything is asked about them, by the
control socket, by the page and by clients: nothing is left of one that went."""
import http.client
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import rpc
from case_reload import Reloads

NAMES = ("s0", "s1", "s2", "s3")


class Asked(Reloads, unittest.TestCase):
    RELOADS = 600 if daemon.SLOW else 60

    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.page = fakeserver.free_port()
        self.ff = daemon.Daemon(self.up.port, daemon={
            "metrics_listen": "127.0.0.1:%d" % self.page})
        self.addCleanup(self.ff.close)
        self.ff.start()
        self.set_up_reloads()
        self.ports = {name: fakeserver.free_port() for name in NAMES}
        self.random = random.Random(1)

    def ask_page(self):
        name = self.random.choice(NAMES)
        c = http.client.HTTPConnection("127.0.0.1", self.page, timeout=10)
        try:
            c.request("GET", self.random.choice(
                ("/metrics", "/api/servers", "/api/history/" + name,
                 "/api/trees/" + name)))
            c.getresponse().read()
        finally:
            c.close()

    def ask(self):
        name = self.random.choice(NAMES)
        self.forefetch(*self.random.choice((
            ("top", "-n", "1"), ("stats",), ("status",), ("pause",),
            ("resume",), ("pause", "--for", "1s", name), ("trees", name),
            ("drop", name), ("reorder", name), ("pins",),
            ("trace", "--server", name, "start", self.ff.dir + "/trace"))))

    def call(self):
        with rpc.Client(self.ports[self.random.choice(NAMES)]) as c:
            for i in range(self.random.randrange(40)):
                c.nfs(rpc.LOOKUP, rpc.lookup_args("f%d" % (i % 7)))
                c.nfs(rpc.READ, rpc.read_args(offset=i * 4096, count=4096))
            c.send(rpc.READ, rpc.read_args(offset=0, count=64))

    def change(self, i):
        name = self.random.choice(NAMES)
        path = os.path.join(self.own, name + ".conf")
        if i % 3 == 0 and os.path.exists(path):
            os.unlink(path)
        else:
            self.put(name, self.ports[name], connections=i % 4 + 1,
                     prefetch=("on", "off")[i % 2],
                     metered=("yes", "no", "auto")[i % 3],
                     address=("127.0.0.1", "localhost")[i // 2 % 2])
        self.forefetch("reload")

    def test_asked(self):
        done = threading.Event()

        def go_on(what):
            while not done.is_set():
                try:
                    what()
                except (OSError, http.client.HTTPException, rpc.Closed):
                    pass  # it is not there just now
        threads = [threading.Thread(target=go_on, args=(what,)) for what in (
            self.ask_page, self.ask, self.ask, self.call, self.call)]
        for t in threads:
            t.start()
        try:
            for i in range(self.RELOADS):
                self.change(i)
        finally:
            done.set()
            for t in threads:
                t.join()
        self.assertIsNone(self.ff.process.poll())
        self.assertEqual(self.ff.lines("error "), [])
        self.works(self.ff.port)


if __name__ == "__main__":
    daemon.main()
