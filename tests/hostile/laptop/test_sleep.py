# SPDX-License-Identifier: GPL-2.0-or-later
"""The lid is closed, and opened again: what was known is old, connections that
the server has forgotten are not waited for, and pauses have passed.

The sleep is that of sleep.c: the clocks and the timer say so, but nothing
stood still."""
import os
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque, u32
from tree import Control, field

PAUSE = 30
HOUR = 3600


class Sleep(daemon.Case):
    settings = {"prefetch": "off"}

    def start_daemon(self, **kw):
        ff = daemon.Daemon(self.up.port, **kw)
        self.addCleanup(ff.close)
        # Its path has no blank, unlike that of a build perhaps.
        preload = os.path.join(ff.dir, "sleep.so")
        os.symlink(os.path.join(daemon.BUILD, "tests", "sleep.so"), preload)
        ff.env = {"LD_PRELOAD": preload,
                  "FF_SLEPT": os.path.join(ff.dir, "slept"),
                  "FF_WOKE": os.path.join(ff.dir, "woke")}
        self.slept(ff, 0)
        os.mkfifo(ff.env["FF_WOKE"])
        ff.start()
        # It listens before it looks whether the machine sleeps.
        poll(lambda: ff.lines(" ready"), "it is ready")
        return ff

    def slept(self, ff, seconds):
        # In place, as it is mapped; new at first.
        fd = os.open(ff.env["FF_SLEPT"], os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, struct.pack("<q", int(seconds * 1e9)))
        os.close(fd)

    def sleep(self, seconds):
        self.slept(self.ff, seconds)
        fd = os.open(self.ff.env["FF_WOKE"], os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, bytes(8))
        os.close(fd)

    def getattr(self, client):
        self.assertEqual(client.nfs(rpc.GETATTR, opaque(rpc.ROOT))[0], 0)

    def disconnects(self):
        return self.ff.counter("upstream_disconnects")

    def test_connection_that_died(self):
        """A call that waited is sent again at once, not after a minute."""
        c = self.connect()
        self.getattr(c)
        time.sleep(0.1)
        self.up.script(rpc.READ, lambda call: HOLD)
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.READ)
        self.up.script(rpc.READ, None)
        begun = time.monotonic()
        self.sleep(HOUR)
        self.assertEqual(c.recv().stat, 0)
        self.assertLess(time.monotonic() - begun, 3)
        self.assertGreaterEqual(self.disconnects(), 1)

    def test_what_was_known_is_old(self):
        c = self.connect()
        self.getattr(c)
        asked = len(self.up.seen(rpc.GETATTR))
        self.getattr(c)
        self.assertEqual(len(self.up.seen(rpc.GETATTR)), asked)
        self.sleep(HOUR)
        self.getattr(c)
        self.assertEqual(len(self.up.seen(rpc.GETATTR)), asked + 1)

    def test_pause_passes(self):
        control = Control(self.ff)
        self.addCleanup(control.close)
        control.ask(PAUSE, field(3, HOUR * 1000 // 2))
        self.assertTrue(self.ff.control("status")["hold"]["paused"])
        self.sleep(HOUR)
        self.assertFalse(self.ff.control("status")["hold"]["paused"])

    def test_clock_that_is_set(self):
        """A clock that is set without a sleep breaks nothing; nor does a
        nap."""
        c = self.connect()
        self.getattr(c)
        was = self.disconnects()
        for seconds in (0, 0.5, 0.9):
            self.sleep(seconds)
        time.sleep(0.5) # longer than changes take to settle
        self.getattr(c)
        self.assertEqual(self.disconnects(), was)

    def test_many_naps(self):
        """The lid opens and closes, opens and closes."""
        c = self.connect()
        for i in range(1, 30):
            self.sleep(i * HOUR)
            self.getattr(c)
        self.assertLessEqual(self.disconnects(), 3 * 30)
        self.bystander()


if __name__ == "__main__":
    daemon.main()
