# SPDX-License-Identifier: GPL-2.0-or-later
"""The server was away for more than two seconds: a change that waited is sent
only if its client asks for it again, on the connection that it makes then."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from case_resend import ResendCase
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32, u64

CHANGE = rpc.mkdir_args("d")


class Outage(ResendCase):
    def away(self):
        failures = self.ff.counter("upstream_connect_failures")
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > failures,
             "it is refused")

    def back(self):
        # Not a wait for something to happen: how long it is away is the test.
        time.sleep(2.5)
        self.up.up()

    def closed(self, client):
        with self.assertRaises(rpc.Closed):
            client.recv()

    def held(self, n):
        self.ff.counted("changes_held", n)
        self.ff.counted("connections_closed_ask_again", 1)

    def test_nobody_asks_again(self):
        """It was not sent: it is dropped. The client connects again, and goes
        on with something else."""
        self.away()
        self.client.send(rpc.MKDIR, CHANGE)
        self.back()
        self.closed(self.client)
        self.held(1)
        self.client = self.connect()
        self.assertEqual(self.client.nfs(rpc.GETATTR, opaque(rpc.ROOT))[0], 0)
        self.bystander()
        self.assertEqual(self.up.seen(rpc.MKDIR), [])
        self.ff.counted("changes_dropped_unsent", 1)

    def test_asks_again(self):
        self.away()
        self.client.send(rpc.MKDIR, CHANGE, xid=77)
        self.back()
        self.closed(self.client)
        self.client = self.connect()
        self.assertEqual(
            rpc.status(self.client.call(rpc.MKDIR, CHANGE, xid=77)), 0)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)
        self.held(1)

    def test_it_was_sent(self):
        """Once it is asked for again, the proxy looks whether it was done."""
        def effect(call):
            self.up.script(rpc.RMDIR, None)
            self.up.plausible(call)
            return HOLD
        self.up.make(b"d", rpc.DIR)
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args("d"))
        self.up.script(rpc.RMDIR, effect)
        self.client.send(rpc.RMDIR, rpc.dirop("d"), xid=77)
        self.up.wait(rpc.RMDIR)
        looks = len(self.up.seen(rpc.LOOKUP))
        self.away()
        self.back()
        self.closed(self.client)
        self.held(1)
        self.assertEqual(len(self.up.seen(rpc.LOOKUP)), looks)
        self.client = self.connect()
        self.assertEqual(rpc.status(
            self.client.call(rpc.RMDIR, rpc.dirop("d"), xid=77)), 0)
        self.assertEqual(len(self.up.seen(rpc.RMDIR)), 1)
        self.ff.counted("postcheck_repaired", 1)

    def test_other_connections_stay(self):
        """Calls that wait there are answered there: of another client, and of
        this one."""
        others = [self.connect() for _ in range(2)]
        self.away()
        self.client.send(rpc.MKDIR, CHANGE)
        others[0].send(rpc.READ, rpc.read_args(count=64))
        others[1].send(rpc.COMMIT, opaque(rpc.ROOT) + u64(0) + u32(0))
        self.up.script(rpc.COMMIT, u32(0) + rpc.NO_WCC + b"verifier")
        self.back()
        self.closed(self.client)
        for c in others:
            self.assertEqual(rpc.status(c.recv()), 0)
        self.held(1)

    def test_short(self):
        """A server that is restarted at once: nobody is asked."""
        self.away()
        self.client.send(rpc.MKDIR, CHANGE)
        self.up.up()
        self.assertEqual(rpc.status(self.client.recv()), 0)
        self.assertEqual(self.ff.counter("changes_held"), 0)

    def test_many(self):
        """All that a few connections may have waiting."""
        clients = [self.connect() for _ in range(4)]
        self.away()
        for c in clients:
            for i in range(128):
                c.send(rpc.MKDIR, rpc.mkdir_args("%d" % i))
        poll(lambda: self.ff.control("status")["upstreams"][0]["queued"] ==
             512, "all are queued")
        self.back()
        for c in clients:
            self.closed(c)
        self.ff.counted("changes_held", 512)
        self.ff.counted("connections_closed_ask_again", 4)
        self.bystander()
        self.assertEqual(self.up.seen(rpc.MKDIR), [])


if __name__ == "__main__":
    daemon.main()
