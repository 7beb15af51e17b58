#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon uses what a release before this one has left in cache_dir: caches,
and what was learned. from-VERSION.tar.xz is such a folder; a release makes its
own by

    FF_MAKE=from-VERSION.tar.xz test_upgrade.py --build ITS_BUILD
"""
import glob
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import daemon
import memfs
import rpc
from case_change import ChangeCase

DIRS, FILES, BYTES = 2, 6, 3000
MAKE = os.environ.get("FF_MAKE")


class StillServer(memfs.MemServer):
    """All of whose files are of one day, so that they are the same each time."""

    @staticmethod
    def clock():
        return 1700000000 * 10 ** 9


class Upgrade(ChangeCase):
    settings = {"connections": 1}

    def setUp(self):
        self.up = StillServer()
        self.addCleanup(self.up.close)
        for d in range(DIRS):
            self.up.make("d%d" % d, rpc.DIR, age=7200)
            for i in range(FILES):
                self.up.make("d%d/f%d" % (d, i), rpc.REG, self.text(i), 7200)
        # It tells what time it is there, and so that the others are old.
        self.up.make("young", rpc.REG)
        self.ff = daemon.Daemon(self.up.port, **self.settings)
        self.addCleanup(self.ff.close)

    @staticmethod
    def text(i):
        return rpc.pattern(i * 64, BYTES)

    def start(self):
        self.ff.start()
        self.client = self.connect()
        daemon.poll(lambda: self.up.conns, "it is connected")

    def use(self):
        self.enter()
        self.lookup("young")
        for d in range(DIRS):
            dir = self.lookup("d%d" % d)
            self.enter(dir)
            self.assertEqual(len(self.names(dir)), FILES)
            for i in range(FILES):
                fh = self.lookup("f%d" % i, dir)
                self.ok(rpc.ACCESS, rpc.access_args(fh))
                self.assertEqual(self.read(fh), self.text(i))

    def trees(self):
        out = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "trees",
             "--json", "list"], env=daemon.environment(), check=True,
            stdout=subprocess.PIPE)
        return json.loads(out.stdout)["total"]

    @unittest.skipUnless(MAKE, "makes the folder, and tests nothing")
    def test_make(self):
        for _ in range(3):
            self.start()
            self.use()
            self.ff.stop()
        subprocess.run(["tar", "-C", self.ff.top["cache_dir"], "--sort=name",
                        "--owner=0", "--group=0", "-cJf", MAKE, "nas"],
                       check=True)

    def test_kept(self):
        files = glob.glob(HERE + "/from-*.tar.xz")
        self.assertTrue(files)
        for file in files:
            with self.subTest(os.path.basename(file)):
                self.kept(file)

    def kept(self, file):
        nas = self.ff.top["cache_dir"] + "/nas"
        os.makedirs(self.ff.top["cache_dir"], 0o700, exist_ok=True)
        subprocess.run(["rm", "-rf", nas], check=True)
        subprocess.run(["tar", "-C", self.ff.top["cache_dir"],
                        "--no-same-owner", "-xJf", file], check=True)
        # The server had another port then.
        with open(nas + "/whose", "w") as f:
            f.write("127.0.0.1 %d\n" % self.up.port)
        for name in glob.glob(nas + "/address-*"):
            os.unlink(name)
        self.start()
        self.assertGreaterEqual(self.ff.counter("data_loaded"), DIRS * FILES)
        self.assertGreater(self.trees(), 0)
        self.use()
        self.assertEqual(len(self.up.seen(rpc.READ)), 0)
        self.ff.stop()
        for word in "set aside", "damaged", "newer", " error ":
            self.assertEqual(self.ff.lines(word), [])
        self.assertEqual(glob.glob(nas + "/*.damaged") +
                         glob.glob(nas + "/*.newer"), [])


if __name__ == "__main__":
    daemon.main()
