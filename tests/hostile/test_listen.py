#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sockets that clients connect to: who else could have them, who has them,
and systemd, which keeps them while the daemon is away."""
import os
import shutil
import socket
import unittest

import daemon
import fakeserver
import rpc
from daemon import poll
from systemd import Kept

TAKEN = 3
NOBODY = 65534


def listener(port, host="127.0.0.1"):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind((host, port))
        s.listen()
    except OSError:
        s.close()
        raise
    return s


class KeptSockets(unittest.TestCase):
    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.ff = Kept(self.up.port)
        self.addCleanup(self.ff.close)

    def answers(self):
        with self.ff.connect() as c:
            st, _ = c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
            self.assertEqual(st, 0)

    def test_nobody_takes_the_port_of_a_daemon_that_was_killed(self):
        self.ff.start()
        for _ in range(5):
            self.ff.kill()
            self.assertRaises(OSError, listener, self.ff.port)
            with self.ff.connect() as waiting:
                waiting.send(rpc.GETATTR, rpc.opaque(rpc.ROOT))
                self.ff.start()
                self.assertEqual(rpc.status(waiting.recv()), 0)
        self.assertEqual(len(self.ff.systemd.said("FDSTORE=1")), 1,
                         "it was kept more than once")

    def test_nor_while_it_is_restarted(self):
        self.ff.start()
        self.ff.stop()
        self.assertRaises(OSError, listener, self.ff.port)
        self.ff.start()
        self.answers()

    def test_what_is_no_longer_configured_is_closed(self):
        old, new = self.ff.port, fakeserver.free_port()
        self.ff.write_config(listen="127.0.0.1:%d 127.0.0.1:%d" % (old, new))
        self.ff.start()
        self.ff.kill()
        self.ff.port = new
        # The same port under another address clashes with what was kept.
        self.ff.write_config(listen="0.0.0.0:%d" % new)
        self.ff.start()
        self.answers()
        listener(old).close()
        self.assertEqual(list(self.ff.systemd.store),
                         ["listen-0.0.0.0-%d" % new])

    def test_a_descriptor_that_does_not_listen_is_not_taken(self):
        with open("/dev/null") as null:
            self.ff.systemd.store["listen-127.0.0.1-%d" % self.ff.port] = [
                os.dup(null.fileno())]
        self.ff.start()
        self.answers()

    def test_it_says_that_it_is_alive(self):
        self.ff.start()
        poll(lambda: len(self.ff.systemd.said("WATCHDOG=1")) >= 3,
             "it tells the watchdog")


class Taken(unittest.TestCase):
    def setUp(self):
        self.ff = daemon.Daemon(1)
        self.addCleanup(self.ff.close)

    def start(self, **kw):
        return daemon.run("-F", "-f", self.ff.file, **kw)

    def test_it_says_by_whom_and_serves_no_other(self):
        other = fakeserver.free_port()
        with open(self.ff.file, "a") as f:
            f.write("[server other]\naddress = 127.0.0.1\n"
                    "listen = 127.0.0.1:%d\n" % other)
        # Whoever comes last finds the port taken: the one before is closed.
        for port in other, self.ff.port:
            with listener(port):
                out = self.start()
            self.assertEqual(out.returncode, TAKEN, out.stdout)
            self.assertIn("listen = 127.0.0.1:%d" % port, out.stdout)
            self.assertIn("(process %d, user id %d)" %
                          (os.getpid(), os.getuid()), out.stdout)
            self.assertIn("stop that, or choose another port", out.stdout)
            for free in {other, self.ff.port} - {port}:
                listener(free).close()

    def test_whoever_listens_at_all_addresses_has_it_too(self):
        for host in "0.0.0.0", "::":
            with self.subTest(host), listener(self.ff.port, host):
                out = self.start()
                self.assertEqual(out.returncode, TAKEN, out.stdout)
                self.assertIn("process %d" % os.getpid(), out.stdout)

    def test_in_the_background_the_exit_status_is_the_same(self):
        with listener(self.ff.port):
            out = daemon.run("-f", self.ff.file)
        self.assertEqual(out.returncode, TAKEN, out.stdout)

    @unittest.skipIf(os.getuid() != 0, "needs root")
    def test_whom_it_may_not_see_it_names_by_user(self):
        for path in self.ff.dir, self.ff.run, self.ff.file:
            os.chown(path, NOBODY, NOBODY)
        # The checkout may lie where nobody else can go.
        program = shutil.copy(daemon.binary("forefetchd"), self.ff.dir)
        with listener(self.ff.port):
            out = self.start(program=program, user=NOBODY, group=NOBODY)
        self.assertEqual(out.returncode, TAKEN, out.stdout)
        self.assertIn("a program of user id 0", out.stdout)


class Unsafe(unittest.TestCase):
    WARNING = "any local user may listen there"

    def check(self, port):
        ff = daemon.Daemon(1)
        self.addCleanup(ff.close)
        ff.write_config(listen="127.0.0.1:%d" % port)
        out = daemon.run("-t", "-f", ff.file)
        self.assertEqual(out.returncode, 0, out.stdout)
        return out.stdout

    def test_a_check_warns_of_ports_that_any_user_may_have(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as f:
            start = int(f.read())
        for port in 289, start - 1, start, 2050:
            with self.subTest(port):
                if port >= start:
                    self.assertIn("127.0.0.1:%d" % port, self.check(port))
                    self.assertIn(self.WARNING, self.check(port))
                elif port > 0:
                    self.assertNotIn(self.WARNING, self.check(port))

    def test_the_daemon_warns_at_its_start(self):
        up = fakeserver.FakeServer()
        self.addCleanup(up.close)
        ff = daemon.Daemon(up.port)
        self.addCleanup(ff.close)
        ff.start()
        # It listens before it says so.
        poll(lambda: ff.lines("server=nas", self.WARNING), "it warns")


if __name__ == "__main__":
    daemon.main()
