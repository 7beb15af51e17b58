# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing gets through to the server any more, though no connection is lost. A
change that was sent lies in the kernel, which would send it as soon as the way
is free again.

The test has a network of its own, so it runs itself in namespaces.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import ownnet
import rpc
from ownnet import ip

HOST = "127.0.0.3"


class Stall(daemon.Case):
    settings = {"address": HOST, "prefetch": "off"}

    def setUp(self):
        self.up = fakeserver.FakeServer(HOST)
        self.addCleanup(self.up.close)
        self.ff = self.start_daemon(**self.settings)
        self.client = self.connect(timeout=30)
        self.client.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))

    def close_way(self):
        ip("route", "add", "blackhole", HOST, "table", "local")
        self.addCleanup(self.open_way)

    def open_way(self):
        if is_closed():
            ip("route", "del", "blackhole", HOST, "table", "local")

    def closed(self):
        with self.assertRaises(rpc.Closed):
            self.client.recv()

    def test_change(self):
        """It is not sent when the way is free, but when it is asked for."""
        self.close_way()
        self.client.send(rpc.MKDIR, rpc.mkdir_args("d"), xid=77)
        daemon.poll(lambda: self.ff.lines("the server is silent"),
                    "the connection is given up")
        # Not a wait for something to happen: how long it lasts is the test.
        time.sleep(2)
        self.open_way()
        self.closed()
        self.assertEqual(self.up.seen(rpc.MKDIR), [])
        self.client = self.connect()
        self.assertEqual(rpc.status(
            self.client.call(rpc.MKDIR, rpc.mkdir_args("d"), xid=77)), 0)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)

    def test_read(self):
        """It does no harm at any time: the connection is kept."""
        self.close_way()
        self.client.send(rpc.READ, rpc.read_args(count=64))
        time.sleep(4)
        self.open_way()
        self.assertEqual(rpc.status(self.client.recv()), 0)
        self.assertEqual(self.ff.lines("the server is silent"), [])


def is_closed():
    return "blackhole" in ip("route", "show", "table", "local")


if __name__ == "__main__":
    ownnet.enter()
    daemon.main()
