#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`forefetch mount` says why the server does not let it mount a path: it asks
through the daemon, before the kernel is asked."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
import rpc

EXPORTS = b"".join(rpc.u32(1) + rpc.opaque(p) + rpc.u32(0)
                   for p in (b"/srv", b"/home")) + rpc.u32(0)
NOENT, IO, ACCES, NOTSUPP, SERVERFAULT = 2, 5, 13, 10004, 10006


@unittest.skipIf(os.geteuid() != 0, "only root may mount")
class Mount(unittest.TestCase):
    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.up.script(rpc.EXPORT, EXPORTS, prog=rpc.MOUNT)
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.where = where.name
        self.ff = None

    def start(self, **server):
        self.ff = daemon.Daemon(self.up.port, **server).start()
        self.addCleanup(self.ff.close)

    def mount(self, path, *options):
        """The message of an attempt that fails."""
        if not self.ff:
            self.start()
        done = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "mount",
             *options, "nas:" + path, self.where], env=daemon.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr.decode()

    def refuse(self, status):
        self.up.script(rpc.MNT, rpc.u32(status), prog=rpc.MOUNT)

    def test_not_exported(self):
        self.refuse(ACCES)
        self.assertIn("export: the server does not export /other; it exports "
                      "/srv, /home", self.mount("/other"))
        # The name of an export begins with it, and it is none.
        self.assertIn("does not export /srv2;", self.mount("/srv2"))

    def test_nothing_exported(self):
        self.up.script(rpc.EXPORT, rpc.u32(0), prog=rpc.MOUNT)
        self.refuse(NOENT)
        self.assertIn("does not export /srv; it exports nothing for NFSv3",
                      self.mount("/srv"))

    def test_reasons(self):
        for status, text in ((NOENT, "has no directory /srv/x"),
                             (ACCES, "does not let this machine mount /srv/x"),
                             (IO, "cannot read /srv/x (an I/O error there)"),
                             (NOTSUPP, "does not support mounting /srv/x"),
                             (SERVERFAULT, "refuses to mount /srv/x "
                              "(status 10006 of MOUNT)")):
            self.refuse(status)
            self.assertIn(text, self.mount("/srv/x"))

    def test_silent(self):
        """It waits for as long as it was told to, and at least 5 s."""
        self.up.script(rpc.MNT, fakeserver.HOLD, prog=rpc.MOUNT)
        self.assertIn("has not answered for 5 s whether /srv may be mounted",
                      self.mount("/srv", "-o", "wait=1"))

    def test_not_allowed(self):
        self.start(allow="192.0.2.0/24")
        self.assertIn("forefetchd closed the connection; check that `allow`",
                      self.mount("/srv"))

    def test_dry_run_changes_no_file(self):
        """Neither the sections of former mounts, which --save would keep and
        any mount would clean away, nor a new one."""
        self.ff = daemon.Daemon(self.up.port)
        self.addCleanup(self.ff.close)
        run = os.path.join(self.ff.dir, "run")
        os.mkdir(run)
        self.ff.args = ["--run-dir", run]
        for name in "used", "left":
            with open("%s/%s.conf" % (run, name), "w") as f:
                f.write("# Made by forefetch mount\n[server %s]\n"
                        "address = 127.0.0.1\nnfs_port = %d\n"
                        "mount_port = %d\nlisten = 127.0.0.1:%d\n" % (
                            name, self.up.port, self.up.port,
                            fakeserver.free_port()))
        self.ff.start()
        before = files_of(self.ff.dir)
        for source in "used:/srv", "127.0.0.1:/home":
            done = subprocess.run(
                [daemon.binary("forefetch"), "--socket", self.ff.socket,
                 "mount", "-f", "--save", source, self.where],
                env=daemon.environment(), stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(files_of(self.ff.dir), before, done.stdout)


def files_of(root):
    """What is in each file below it that is a part of a configuration."""
    found = {}
    for where, _, names in os.walk(root):
        for name in names:
            if name.endswith(".conf") and not name.startswith("."):
                with open(os.path.join(where, name)) as f:
                    found[os.path.join(where, name)] = f.read()
    return found


if __name__ == "__main__":
    daemon.main()
