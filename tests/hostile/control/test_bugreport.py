#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetch bugreport: what a stranger may read."""
import json
import os
import re
import socket
import stat

import commands
import daemon
import rpc

class Bugreport(commands.Commands):
    def report(self, *args):
        code, out, err = self.run_it("bugreport", *args)
        self.assertEqual(code, 0, err)
        return out

    def test_nothing_of_the_user_is_in_it(self):
        """Not the names that a client used, nor where anything is."""
        with self.ff.connect() as c:
            c.call(rpc.MNT, rpc.opaque(b"/srv/quagga"), prog=rpc.MOUNT)
            c.call(rpc.LOOKUP, rpc.opaque(rpc.ROOT) + rpc.opaque(b"ocelot"))
        text = self.report("-o", "-")
        self.assertEqual(len(text.splitlines()), 6)
        for secret in ("nas", "/srv", "quagga", "ocelot", self.mount,
                       self.ff.dir, self.ff.run, self.ff.socket,
                       socket.gethostname(), "/"):
            with self.subTest(secret=secret):
                self.assertNotIn(secret, self.without_versions(text))
        self.assertFalse(re.search(r"\d+\.\d+\.\d+\.\d+", text))
        self.assertFalse(re.search(r"[0-9a-f]+:[0-9a-f]*:[0-9a-f]", text))

    def without_versions(self, text):
        """The kernel's version may have any word in it."""
        return "\n".join(text.splitlines()[1:])

    def test_what_is_in_it(self):
        report = json.loads(self.report("-o", "-"))
        self.assertEqual(set(report), {"versions", "status", "stats", "doctor",
                                       "settings", "mounts"})
        self.assertEqual(report["versions"]["forefetch"],
                         report["status"]["version"])
        server, = report["status"]["servers"]
        self.assertRegex(server["name"], r"^text-\d+$")
        self.assertEqual(server["name"], report["stats"]["servers"][0]["name"])
        self.assertNotEqual(server["name"], server["address"])
        self.assertEqual(server["consistency"], "bounded")
        of_all, of_server = report["settings"][:2]
        self.assertEqual(of_all["section"], "forefetch")
        self.assertRegex(of_all["cache_dir"], r"^text-\d+$")
        self.assertEqual(of_all["cache_dir"], report["status"]["cache_dir"])
        self.assertEqual(of_server["section"], "server")
        self.assertEqual(of_server["name"], server["name"])
        self.assertEqual(of_server["secure"], "no")
        self.assertEqual(of_server["consistency"], "bounded")
        self.assertIn("counters", report["stats"]["servers"][0])
        self.assertIn({"state": "ok", "what": "forefetchd"}, report["doctor"])

    def test_file(self):
        """It has a name that tells what it is, and is the user's alone."""
        at = os.getcwd()
        self.addCleanup(os.chdir, at)
        os.chdir(self.ff.dir)
        out = self.report()
        name = out.split(":")[0]
        self.assertRegex(name, r"^forefetch-bugreport-\d{8}-\d{6}\.json$")
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        with open(name) as f:
            json.load(f)
        self.assertEqual(self.run_it("bugreport", "-o", "/none/x")[0], 1)

    def test_a_pipe_stays_one(self):
        """As /dev/null would: root could put a file in its place."""
        pipe = os.path.join(self.ff.dir, "pipe")
        os.mkfifo(pipe)
        fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        self.report("-o", pipe)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertEqual(os.read(fd, 1), b"{")

    def test_without_a_daemon(self):
        self.ff.stop()
        report = json.loads(self.report("-o", "-"))
        self.assertIsNone(report["status"])
        self.assertIn({"state": "fail", "what": "forefetchd"},
                      report["doctor"])


if __name__ == "__main__":
    daemon.main()
