#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers come and go while systemd keeps their sockets, and while the disk of
the cache does not answer."""
import os
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import case_disk
import daemon
import fakeserver
import rpc
from case_reload import Reloads
from daemon import poll
from systemd import Kept
from tree import Control, field, fields

TREES, CLEAR, BUSY = 21, 5, 5


def names(*ports):
    return {"listen-127.0.0.1-%d" % p for p in ports}


class Systemd(Reloads, unittest.TestCase):
    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.ff = Kept(self.up.port)
        self.addCleanup(self.ff.close)
        self.ff.start()
        self.set_up_reloads()
        self.systemd = self.ff.systemd

    def kept(self, *ports):
        poll(lambda: set(self.systemd.store) == names(*ports),
             "systemd keeps these sockets")
        self.assertEqual([len(f) for f in self.systemd.store.values()],
                         [1] * len(ports))

    def test_sockets(self):
        self.kept(self.ff.port)
        port = self.add()
        self.kept(self.ff.port, port)
        # A server that is replaced keeps its socket, and so does systemd.
        self.put("two", port, connections=3)
        self.reload()
        self.works(port)
        self.kept(self.ff.port, port)
        self.assertEqual(len(self.systemd.said("FDSTORE=1")), 2)
        os.unlink(self.own + "/two.conf")
        self.reload()
        self.kept(self.ff.port)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", port))
            s.listen()
        # The next daemon takes what is kept.
        self.ff.kill()
        self.ff.start()
        self.works(self.ff.port)

    def test_an_address_that_takes_the_place_of_another(self):
        """systemd has its copy of the former for a moment longer."""
        port = self.add()
        self.put("two", port, listen="0.0.0.0:%d" % port)
        self.assertEqual(self.kinds(), {("two", "listen"): "changed"})
        self.works(port)

    def told(self, text):
        """Of the messages since, those with RELOADING or READY."""
        return [t for t in self.systemd.said("") if "RELOADING=1" in t or
                "READY=1" in t]

    def test_reloading_is_told(self):
        """As Type=notify-reload wants it: with a time after the signal."""
        for bad in (False, True):
            if bad:
                with open(self.own + "/x.conf", "w") as f:
                    f.write("nonsense\n")
            before = len(self.told(""))
            now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self.ff.process.send_signal(signal.SIGHUP)
            poll(lambda: len(self.told("")) == before + 2, "it is told")
            reloading, ready = self.told("")[before:]
            fields = dict(l.split("=", 1) for l in reloading.splitlines())
            self.assertEqual(fields["RELOADING"], "1")
            self.assertGreaterEqual(int(fields["MONOTONIC_USEC"]), now_us)
            self.assertIn("READY=1", ready)


class Disk(Reloads, case_disk.Disk):
    def setUp(self):
        super().setUp()
        self.set_up_reloads()

    def serves(self):
        """The one whose disk hangs, at once."""
        begun = time.monotonic()
        with self.ff.connect() as c:
            self.get(c)
        self.assertLess(time.monotonic() - begun, 3)

    def test_hangs(self):
        self.serves()
        self.fault("hang")
        port = fakeserver.free_port()
        self.put("two", port)
        begun = time.monotonic()
        reloads = [self.begin_reload()]
        while reloads[0].poll() is None:
            self.serves()
        self.assertEqual(reloads[0].returncode, 0)
        self.assertTrue(4 < time.monotonic() - begun < 15)
        self.works(port)
        self.serves()
        # It goes at once, but for what cannot be saved.
        os.unlink(self.own + "/two.conf")
        begun = time.monotonic()
        self.assertEqual(self.kinds(), {("two", ""): "removed"})
        self.assertLess(time.monotonic() - begun, 3)
        self.refused(port)
        self.serves()
        # While it is not put away, its name is taken.
        self.put("two", port)
        again = self.begin_reload()
        self.serves()
        self.assertEqual(self.servers(), ["nas"])
        self.assertIsNone(again.poll())
        self.mend()
        self.assertEqual(again.wait(30), 0)
        self.works(port)
        self.assertLess(self.gauge("loop_longest_turn_us"), 2000000)

    def learns(self, port):
        """A program of several files."""
        with rpc.Client(port) as c:
            for i in range(20):
                c.nfs(rpc.READ, rpc.read_args(b"file-handle-%04d" % i, 0, 64),
                      cred=rpc.auth_sys(uid=os.getuid(), gid=os.getgid()))

    def remove(self, name):
        os.unlink("%s/%s.conf" % (self.own, name))
        self.assertEqual(self.kinds(), {(name, ""): "removed"})

    def test_learned_trees_hang(self):
        """A server comes, and what was learned of it before is read from a
        disk that does not answer: everybody else is served."""
        trees = os.path.join(self.cache, "two", "trees")
        port = self.add()
        self.learns(port)
        self.remove("two")
        poll(lambda: os.path.exists(trees), "they are saved")
        with open(trees, "rb") as f:
            saved = f.read()
        self.fault("hang-trees")
        self.put("two", port)
        reload = self.begin_reload()
        while reload.poll() is None:
            self.serves()
        self.assertEqual(reload.returncode, 0)
        # It is served without them at last.
        self.works(port)
        control = Control(self.ff)
        self.addCleanup(control.close)
        for command in (b"", field(2, CLEAR)):
            self.assertEqual(control.ask(TREES, field(1, b"two") + command),
                             {-1: BUSY})
        # It goes when they are loaded, and takes nothing from them.
        self.remove("two")
        self.serves()
        with open(trees, "rb") as f:
            self.assertEqual(f.read(), saved)
        self.mend()
        self.add()
        self.assertGreater(self.trees(control, b"two"), 0)
        self.assertEqual(control.ask(TREES, field(1, b"two") +
                                     field(2, CLEAR)), {})
        self.assertEqual(self.trees(control, b"two"), 0)

    def trees(self, control, server):
        return fields(control.ask(TREES, field(1, server))[1]).get(2, 0)

    def test_stop_while_it_hangs(self):
        port = self.add()
        self.fault("hang")
        os.unlink(self.own + "/two.conf")
        self.reload()
        self.refused(port)
        self.mend()
        self.ff.stop()

    def test_full(self):
        port = self.add()
        self.works(port)
        self.fault("enospc")
        os.unlink(self.own + "/two.conf")
        self.reload()
        self.put("two", port)
        self.assertEqual(self.kinds(), {("two", ""): "added"})
        self.works(port)


if __name__ == "__main__":
    daemon.main()
