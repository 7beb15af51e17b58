#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`forefetch probe` and `doctor` before servers that are wrong, slow or evil:
they end in time, say what it is, and pass on no bytes that a terminal obeys."""
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
import rpc

HOST = "127.0.0.1"
LIMIT = 20  # seconds that a probe may take
ESCAPE = b"\x1b[2J\n"


def exports(*paths):
    return b"".join(rpc.u32(1) + rpc.opaque(p) + rpc.u32(0)
                    for p in paths) + rpc.u32(0)


def listing(*entries):
    """READDIRPLUS: (name, handle, attributes)."""
    out = rpc.u32(0, 0) + b"\0" * 8
    for i, (name, fh, attr) in enumerate(entries):
        out += rpc.u32(1) + rpc.u64(i + 1) + rpc.opaque(name) + rpc.u64(i + 1)
        out += rpc.u32(1) + attr + rpc.u32(1) + rpc.opaque(fh)
    return out + rpc.u32(0, 1)


class Listener:
    """Gives every connection to a function, on a thread."""

    def __init__(self, serve):
        self.sock = socket.socket()
        self.sock.bind((HOST, 0))
        self.sock.listen(8)
        self.port = self.sock.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.run, args=(sock,),
                             daemon=True).start()

    def run(self, sock):
        try:
            self.serve(sock)
        except OSError:
            pass
        sock.close()

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Probe(unittest.TestCase):
    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.up.script(rpc.EXPORT, exports(b"/srv", b"/home"),
                       prog=rpc.MOUNT)

    def run_it(self, *args, limit=LIMIT):
        began = time.monotonic()
        done = subprocess.run(
            [daemon.binary("forefetch"), *args], env=daemon.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertLess(time.monotonic() - began, limit)
        self.assertEqual(done.stderr, b"")
        self.assertNotIn(b"\x1b", done.stdout)
        return done.returncode, done.stdout.decode()

    def probe(self, path="/srv", code=1, port=None, options=()):
        port = str(port or self.up.port)
        got, text = self.run_it(
            "probe", "--nfs-port", port, "--mount-port", port, *options,
            HOST + (":" + path if path else ""))
        self.assertEqual(got, code, text)
        return text

    def test_good(self):
        self.up.script(rpc.READDIRPLUS, listing(
            (b"data", b"fh-data", rpc.fattr(rpc.REG, 7, size=300))))
        text = self.probe(code=0)
        for line in ("ok    export: /srv may be mounted",
                     "ok    read: ", "ok    round trip: "):
            self.assertIn(line, text)
        self.assertNotIn("fail", text)
        changes = (rpc.SETATTR, rpc.WRITE, rpc.CREATE, rpc.REMOVE)
        self.assertFalse([c for c in self.up.calls if c.prog == rpc.NFS and
                          c.proc in changes])

    def test_json(self):
        text = self.probe(code=0, options=("--json",))
        value = json.loads(text)
        self.assertIs(value["ok"], True)
        self.assertEqual(value["exports"], ["/srv", "/home"])
        self.assertGreater(value["round_trip_us"], 0)
        self.assertIsNone(value["rate_bytes_per_second"])

    def test_write(self):
        """A file is made and removed where that was asked for, only."""
        self.up.make(b"dir", rpc.DIR)
        # It fails by the clock, which stands in 1970 there.
        text = self.probe(options=("--write", "dir"))
        self.assertIn("a file was created and removed", text)
        made = self.up.seen(rpc.CREATE)
        self.assertEqual(len(made), 1)
        self.assertEqual(len(self.up.seen(rpc.REMOVE)), 1)
        self.assertEqual(list(self.up.names), [b"dir"])
        text = self.probe(code=1, options=("--write", "nosuch"))
        self.assertIn("no such directory", text)

    def test_only_version_4(self):
        self.up.script(rpc.NULL, lambda call: fakeserver.Raw(
            rpc.accepted(call.xid, rpc.PROG_MISMATCH, rpc.u32(4, 4))))
        text = self.probe()
        self.assertIn("offers NFSv4 only", text)
        self.assertIn("vers3=y", text)

    def test_no_nfs(self):
        self.up.script(rpc.NULL, lambda call: fakeserver.Raw(
            rpc.accepted(call.xid, rpc.PROG_UNAVAIL)))
        self.assertIn("not an NFS server", self.probe())

    def test_export_is_not_there(self):
        self.up.script(rpc.MNT, rpc.u32(rpc.NOENT), prog=rpc.MOUNT)
        text = self.probe("/nosuch")
        self.assertIn("does not export /nosuch; it exports /srv, /home", text)

    def test_kerberos_only(self):
        self.up.script(rpc.MNT, rpc.u32(0) + rpc.opaque(rpc.ROOT) +
                       rpc.u32(1, 390003), prog=rpc.MOUNT)
        self.assertIn("wants krb5", self.probe())

    def test_evil_names(self):
        """Bytes of the server do not reach the terminal as they are."""
        self.up.script(rpc.EXPORT, exports(ESCAPE, b"%s%n"), prog=rpc.MOUNT)
        self.up.script(rpc.READDIRPLUS, listing(
            (ESCAPE, b"fh", rpc.fattr(rpc.REG, 7, size=300))))
        text = self.probe(code=0)
        self.assertIn("\\x1b[2J\\x0a", text)
        self.assertIn("%s%n", text)

    def test_many_exports(self):
        self.up.script(rpc.EXPORT, exports(
            *(b"/%d" % i + b"x" * 900 for i in range(1000))), prog=rpc.MOUNT)
        self.up.script(rpc.MNT, rpc.u32(rpc.ACCES), prog=rpc.MOUNT)
        self.assertIn("(1000 in all)", self.probe("/nosuch"))

    def test_malformed(self):
        """Results that are cut off, or claim what is not there."""
        cases = [
            (rpc.MNT, rpc.MOUNT, rpc.u32(0) + rpc.opaque(b"x", claim=1 << 31)),
            (rpc.MNT, rpc.MOUNT, rpc.u32(0) + rpc.opaque(b"x" * 65)),
            (rpc.MNT, rpc.MOUNT, rpc.u32(0) + rpc.opaque(b"") + rpc.u32(0)),
            (rpc.EXPORT, rpc.MOUNT, rpc.u32(1) + rpc.opaque(b"/a")),
            (rpc.FSINFO, rpc.NFS, rpc.u32(0, 1)),
            (rpc.FSSTAT, rpc.NFS, b"\0"),
            (rpc.ACCESS, rpc.NFS, rpc.u32(0)),
            (rpc.READDIRPLUS, rpc.NFS, rpc.u32(0, 0) + b"\0" * 8 +
             rpc.u32(1) + rpc.u64(1) + rpc.opaque(b"a", claim=1 << 30)),
        ]
        for proc, prog, results in cases:
            with self.subTest(proc=proc, results=results):
                self.up.script(proc, results, prog=prog)
                self.run_it("probe", "--nfs-port", str(self.up.port),
                            "--mount-port", str(self.up.port), HOST + ":/srv")
                self.up.script(proc, None, prog=prog)

    def test_long_read(self):
        """More bytes than were asked for are no READ."""
        self.up.script(rpc.READDIRPLUS, listing(
            (b"data", b"fh-data", rpc.fattr(rpc.REG, 7, size=300))))
        self.up.script(rpc.READ, rpc.read_ok(b"x" * 100000))
        self.assertIn("no file that this user may read", self.probe(code=0))

    def test_silent(self):
        silent = Listener(lambda sock: sock.recv(1) and time.sleep(60))
        self.addCleanup(silent.close)
        self.assertIn("does not answer", self.probe(port=silent.port))

    def test_dribble(self):
        """A byte now and then is no progress for ever."""
        def dribble(sock):
            for i in range(600):
                sock.sendall(b"\x80\0\x10\0" if i == 0 else b"\0")
                time.sleep(0.1)
        slow = Listener(dribble)
        self.addCleanup(slow.close)
        self.probe(port=slow.port)

    def test_garbage(self):
        for data in (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100, b"\xff" * 5000,
                     b"\x80\0\0\0" * 1000, b""):
            with self.subTest(data=data[:10]):
                bad = Listener(lambda sock, d=data: sock.sendall(d))
                self.probe(port=bad.port)
                bad.close()

    def test_other_reply(self):
        """The reply to a call that was not made."""
        self.up.script(rpc.NULL, lambda call: fakeserver.Raw(
            rpc.accepted(call.xid + 7)))
        self.probe()

    def test_refused(self):
        self.up.close()
        self.assertIn("nothing listens at its port", self.probe())

    def test_usage(self):
        for args in (["probe"], ["probe", ""], ["probe", "a", "b"],
                     ["probe", ":/x"], ["probe", "[::1"], ["probe", "a:b"],
                     ["probe", "--nfs-port", "0", "a"],
                     ["probe", "--nfs-port", "65536", "a"],
                     ["probe", "--nfs-port", "-1", "a"],
                     ["probe", "--write", "d", "a"], ["doctor", "a", "b"]):
            with self.subTest(args=args):
                done = subprocess.run(
                    [daemon.binary("forefetch"), *args],
                    env=daemon.environment(), stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 2, done)
                self.assertTrue(done.stderr)

    def test_doctor_of_a_host(self):
        """Without a daemon, the name is that of a machine."""
        code, text = self.run_it("--socket", "/nonexistent/sock", "doctor",
                                 "no-such-host.invalid", limit=30)
        self.assertEqual(code, 1)
        self.assertIn("it is not running", text)
        self.assertIn("no-such-host.invalid", text)

    def test_doctor_of_an_address_in_brackets(self):
        _, text = self.run_it("--socket", "/nonexistent/sock", "doctor",
                              "[::1]:/srv", limit=30)
        self.assertIn("name: ::1, an address", text)


if __name__ == "__main__":
    daemon.main()
