#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon keeps what forefetch was worth: over restarts, and where the
section of a server goes and comes back, as with the last umount and the next
mount."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import rpc
from daemon import poll
from rpc import opaque

CALLS = 50


class Balance(daemon.Case):
    def work(self):
        with self.connect() as client:
            for _ in range(CALLS):
                client.nfs(rpc.GETATTR, opaque(rpc.ROOT))

    def kept(self):
        return self.ff.control("stats")["balance"]

    def assert_kept(self, then, calls):
        now = self.kept()
        self.assertGreaterEqual(now["calls"], then["calls"] + calls)
        for key, value in then.items():
            self.assertGreaterEqual(now[key], value, key)
        days = self.ff.control("stats")["days"]
        self.assertEqual(sum(d["calls"] for d in days), now["calls"])
        return now

    def test_restarts(self):
        self.work()
        then = self.kept()
        self.assertGreaterEqual(then["calls"], CALLS)
        self.assertEqual(then["day"], int(time.strftime("%Y%m%d")))
        self.ff.stop()
        self.ff.start()
        then = self.assert_kept(then, 0)
        self.work()
        self.assert_kept(then, CALLS)

    def test_mounts(self):
        with self.connect() as client:
            client.call(rpc.MNT, opaque("/src"), prog=rpc.MOUNT)
        self.work()
        then = self.ff.control("stats")["mounts"]
        self.assertEqual([m["export_path"] for m in then], ["/src"])
        self.assertGreaterEqual(then[0]["calls"], CALLS)
        self.assertGreater(then[0]["saved_round_trips"], 0)
        self.assertEqual(then[0]["day"], int(time.strftime("%Y%m%d")))
        self.ff.stop()
        self.ff.start()
        self.assertEqual(self.ff.control("stats")["mounts"], then)
        # A client that has it mounted does not mount it again.
        out = daemon.run("--socket", self.ff.socket, "drop",
                         program=daemon.binary("forefetch"))
        self.assertEqual(out.returncode, 0, out.stdout)
        self.work()
        now = self.ff.control("stats")["mounts"]
        self.assertEqual(len(now), 1)
        self.assertGreaterEqual(now[0]["calls"], then[0]["calls"] + CALLS)

    def test_section_goes_and_comes(self):
        self.work()
        then = self.kept()
        server = dict(self.ff.server)
        with open(self.ff.file) as f:
            whole = f.read()
        with open(self.ff.file, "w") as f:
            f.write(whole.replace("[server nas]", "[server other]"))
        self.ff.hup()
        self.assertEqual(self.ff.control("stats")["name"], "other")
        with open(self.ff.file, "w") as f:
            f.write(whole)
        self.ff.hup()
        self.ff.server = server
        poll(lambda: self.ff.control("stats")["name"] == "nas", "nas")
        self.assert_kept(then, 0)


if __name__ == "__main__":
    daemon.main()
