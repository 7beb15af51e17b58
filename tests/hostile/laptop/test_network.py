# SPDX-License-Identifier: GPL-2.0-or-later
"""The network changes: what is known of the link is forgotten where the way to
the server is another one, and only there.

The test has a network of its own, so it runs itself in namespaces.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import ownnet
import rpc
from daemon import poll
from ownnet import ip


class Network(daemon.Case):
    settings = {"prefetch": "off"}

    def setUp(self):
        super().setUp()
        with self.connect() as c:
            self.assertEqual(c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))[0], 0)
        self.assertGreater(self.base(), 0)

    def base(self):
        return self.ff.control("status")["link"]["base_us"]

    def source(self, address):
        """Whatever goes to the server comes from `address` from now on."""
        ip("route", "replace", "local", "127.0.0.1", "dev", "lo", "table",
           "local", "src", address)
        self.addCleanup(ip, "route", "replace", "local", "127.0.0.1", "dev",
                        "lo", "table", "local", "src", "127.0.0.1")

    def test_what_is_nothing_to_the_server(self):
        """Addresses and routes that it has no use for come and go."""
        base = self.base()
        for i in range(3):
            ip("addr", "add", "127.9.0.%d/32" % i, "dev", "lo")
            ip("route", "add", "blackhole", "10.9.%d.0/24" % i)
            time.sleep(0.5) # longer than changes take to settle
            self.assertEqual(self.base(), base)
        self.assertEqual(self.ff.counter("upstream_disconnects"), 0)

    def test_another_way(self):
        """Another way to the server is a link of which nothing is known, until
        it has told."""
        self.source("127.0.0.7")
        poll(lambda: self.base() is None, "the link is forgotten")
        with self.connect() as c:
            c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
            c.nfs(rpc.READ, rpc.read_args(count=64))
        self.assertGreater(self.base(), 0)


if __name__ == "__main__":
    ownnet.enter()
    daemon.main()
