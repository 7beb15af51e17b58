# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's address comes from the system's resolver, as slow and wrong as
that may be, and nothing waits for it.

The test has a network and a /etc of its own, so it runs itself in namespaces.
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import ownnet
import rpc

NAME = "nas.forefetch.test"
FILES = ("hosts", "resolv.conf", "nsswitch.conf")


class Nameserver:
    """Answers each question for an A with `address`, or is silent."""

    def __init__(self, host, address=None):
        self.address = address
        self.asked = 0
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((host, 53))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            question, peer = self.sock.recvfrom(512)
            if not question:
                return
            self.asked += 1
            if self.address:
                self.sock.sendto(self.answer(question), peer)

    def answer(self, q):
        end = q.index(b"\0", 12) + 5
        kind, = struct.unpack(">H", q[end - 4:end - 2])
        data = socket.inet_aton(self.address) if kind == 1 else b""
        head = q[:2] + struct.pack(">5H", 0x8180, 1, len(data) // 4, 0, 0)
        record = struct.pack(">HHHIH", 0xc00c, 1, 1, 0, 4) + data
        return head + q[12:end] + (record if data else b"")

    def close(self):
        self.sock.sendto(b"", self.sock.getsockname())
        self.thread.join()
        self.sock.close()


class Resolve(daemon.Case):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ff-hostile-")
        self.write("hosts", "127.0.0.1 localhost\n")
        self.write("nsswitch.conf", "hosts: files dns\n")
        self.write("resolv.conf", "")
        # In place, as these are bound over those of the machine.
        for name in FILES:
            subprocess.run(["mount", "--bind", os.path.join(self.dir, name),
                            "/etc/" + name], check=True)
            self.addCleanup(subprocess.run, ["umount", "/etc/" + name],
                            check=True)
        self.settings = {"address": NAME, "prefetch": "off"}

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def nameserver(self, host, address=None):
        ns = Nameserver(host, address)
        self.addCleanup(ns.close)
        return ns

    def ask(self, host, timeout=1):
        self.write("resolv.conf", "nameserver %s\noptions timeout:%d "
                   "attempts:1\n" % (host, timeout))

    def status(self):
        return self.ff.control("status")

    def reason(self, words, bound=daemon.BOUND):
        daemon.poll(lambda: words in (self.status()["reason"] or ""),
                    "%r in %r" % (words, self.status()["reason"]), bound)

    def is_up(self, bound=daemon.BOUND):
        daemon.poll(lambda: self.status()["state"] == "up", "it is up", bound)

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.ff.process.pid))

    def change_network(self, address):
        subprocess.run(["ip", "addr", "add", address, "dev", "lo"],
                       check=True)
        self.addCleanup(subprocess.run, ["ip", "addr", "del", address, "dev",
                                         "lo"], check=True)


class Hosts(Resolve):
    def test_name_that_comes_later(self):
        """/etc/hosts is read anew; the error says what is wrong until then."""
        self.write("nsswitch.conf", "hosts: files\n")
        super(Resolve, self).setUp()
        self.reason("the name %s is not known: " % NAME)
        self.assertIn("is it spelled right?", self.status()["reason"])
        self.assertEqual(self.status()["last_error"], self.status()["reason"])
        self.write("hosts", "127.0.0.1 localhost %s\n" % NAME)
        self.is_up()
        self.assertIsNone(self.status()["reason"])
        with self.ff.connect() as c:
            self.assertEqual(c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))[0], 0)

    def test_down_for_a_while(self):
        """An outage has one beginning, however often the name is asked."""
        self.write("nsswitch.conf", "hosts: files\n")
        super(Resolve, self).setUp()
        self.reason("is not known")
        age = self.status()["state_age_us"]
        time.sleep(1) # what is looked at is how long it takes
        self.assertGreaterEqual(self.status()["state_age_us"], age + 1000000)
        self.assertNotEqual(self.status()["state"], "up")


class Dns(Resolve):
    def test_other_name_server(self):
        """resolv.conf is read anew when it changes."""
        silent = self.nameserver("127.0.0.2")
        self.nameserver("127.0.0.3", "127.0.0.1")
        self.ask("127.0.0.2")
        super(Resolve, self).setUp()
        self.reason("no name server answers")
        self.assertGreater(silent.asked, 0)
        self.ask("127.0.0.3")
        self.is_up()

    def test_silent_for_long(self):
        """It answers whoever asks, and stops in time."""
        silent = self.nameserver("127.0.0.2")
        self.ask("127.0.0.2", 30)
        super(Resolve, self).setUp()
        daemon.poll(lambda: silent.asked, "it asks")
        self.assertEqual(self.status()["state"], "resolving")
        begun = time.monotonic()
        self.ff.stop()
        self.assertLess(time.monotonic() - begun, 3)

    def test_network_changes_meanwhile(self):
        """The daemon does not wait for names that it asked over the old
        network, and no number of changes makes more than a few threads."""
        silent = self.nameserver("127.0.0.2")
        self.nameserver("127.0.0.3", "127.0.0.1")
        self.ask("127.0.0.2", 30)
        super(Resolve, self).setUp()
        daemon.poll(lambda: silent.asked, "it asks")
        threads = self.threads()
        for i in range(20):
            self.change_network("127.9.0.%d/32" % i)
        self.ask("127.0.0.3")
        self.change_network("127.9.1.1/32")
        begun = time.monotonic()
        self.is_up()
        # Two changes in a second are one.
        self.assertLess(time.monotonic() - begun, 4)
        self.assertLessEqual(self.threads(), threads + 2)

    def test_server_has_moved(self):
        """At home it has another address than abroad."""
        self.write("nsswitch.conf", "hosts: files\n")
        self.write("hosts", "127.0.0.9 %s\n" % NAME)
        super(Resolve, self).setUp()
        self.reason("cannot connect to 127.0.0.9")
        self.write("hosts", "127.0.0.1 %s\n" % NAME)
        begun = time.monotonic()
        self.change_network("127.9.0.1/32")
        self.is_up()
        self.assertLess(time.monotonic() - begun, 4)

    def test_garbage(self):
        """An address of a strange length, and names in circles."""
        ns = self.nameserver("127.0.0.2", "127.0.0.1")
        good = ns.answer
        ns.answer = lambda q: good(q)[:-6] + b"\xff\xff" + b"\x7f" * 4
        self.ask("127.0.0.2")
        super(Resolve, self).setUp()
        self.reason("the name %s is not known: " % NAME)
        ns.answer = lambda q: good(q)[:12] + b"\xc0\x0c" * 100
        asked = ns.asked
        daemon.poll(lambda: ns.asked > asked + 1, "it asks again")
        ns.answer = good
        self.is_up()


if __name__ == "__main__":
    ownnet.enter()
    daemon.main()
