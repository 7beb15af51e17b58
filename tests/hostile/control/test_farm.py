#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetch farm: the key of a farm, without a daemon; and the samples of engines,
which let in whom they should."""
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver

SAMPLES = os.path.join(HERE, *[os.pardir] * 3, "configs", "farm")
NOBODY = "0" * 64


class Farm(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory(prefix="ff-farm.")
        self.addCleanup(tmp.cleanup)
        self.dir = tmp.name
        self.key = os.path.join(self.dir, "key")

    def run_it(self, *args):
        """Exit status, output and errors; no daemon could be asked."""
        done = subprocess.run(
            [daemon.binary("forefetch"), "--socket", "/nowhere", "farm", *args],
            text=True, cwd=self.dir, timeout=daemon.BOUND,
            env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def check(self, text):
        """Returns forefetchd's words on a configuration with this section."""
        conf = os.path.join(self.dir, "f.conf")
        with open(conf, "w") as f:
            f.write("[forefetch]\ncache_dir = %s/cache\n[farm]\n%s\n" %
                    (self.dir, text))
        done = subprocess.run(
            [daemon.binary("forefetchd"), "-t", "-v", "-f", conf],
            text=True, timeout=daemon.BOUND, env=daemon.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_key(self):
        code, out, err = self.run_it("key", self.key)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith(self.key + ": "), out)
        for part in "chown forefetch: " + self.key, "[farm]", "key_file":
            self.assertIn(part, out)
        st = os.stat(self.key)
        self.assertEqual(stat.S_IMODE(st.st_mode), 0o600)
        with open(self.key) as f:
            self.assertRegex(f.read(), r"\A[0-9a-f]{64}\n\Z")

    def test_json(self):
        code, out, err = self.run_it("key", "key", "--json")
        self.assertEqual((code, err, out.count("\n")), (0, "", 1))
        got = json.loads(out)
        self.assertEqual(got["file"], "key")
        self.assertRegex(got["prefix"], r"\Aff:[\w-]{6}:\Z")
        other = json.loads(self.run_it("key", "other", "--json")[1])
        self.assertNotEqual(got["prefix"], other["prefix"])

    def test_errors(self):
        """A file that is there stays; and each message says what to do."""
        self.assertEqual(self.run_it("key", self.key)[0], 0)
        with open(self.key) as f:
            text = f.read()
        for file, part in ((self.key, "remove the file first"),
                           (self.dir, "remove the file first"),
                           ("absent/key", "create it first"),
                           ("key/key", "create it first")):
            code, out, err = self.run_it("key", file)
            self.assertEqual((code, out), (1, ""), file)
            self.assertIn(part, err)
            self.assertIn(file, err)
        with open(self.key) as f:
            self.assertEqual(f.read(), text)
        for words in ("key",), ("kee", "x"), ("key", "a", "b"):
            code, out, err = self.run_it(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn("forefetch", err)
        self.assertEqual(os.listdir(self.dir), ["key"])

    def test_configuration(self):
        code, out = self.check("engine = redis://h, redis://[::1]:7\n"
                               "key_file = %s" % self.key)
        self.assertEqual(code, 0, out)
        self.assertIn("\nengine = redis://h:6379 redis://[::1]:7\n", out)
        code, out = self.check("engine = redis://joe:secret@h")
        self.assertEqual(code, 2)
        self.assertIn("f.conf:4: [farm] engine: ", out)
        self.assertIn("password_file", out)
        self.assertNotIn("secret", out)


@unittest.skipUnless(shutil.which("redis-server") and shutil.which("redis-cli"),
                     "no redis-server")
class Engine(unittest.TestCase):
    """configs/farm, on a socket and with a password."""

    def setUp(self):
        tmp = tempfile.TemporaryDirectory(prefix="ff-farm.")
        self.addCleanup(tmp.cleanup)
        self.dir = tmp.name

    def put(self, name, hash, *changes):
        with open(os.path.join(SAMPLES, name)) as f:
            text = f.read().replace("#" + NOBODY, "#" + hash)
        for key, value in changes:
            text, n = re.subn(r"(?m)^%s .*" % key, "%s %s" % (key, value), text)
            self.assertEqual(n, 1, (name, key))
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def start(self, *configs, hash):
        """The sample, with those that include it."""
        node = self.put("redis-forefetch.conf", hash, ("dir", self.dir),
                        ("port", fakeserver.free_port()))
        for name in configs:
            node = self.put(name, hash, ("include", node))
        self.socket = os.path.join(self.dir, "s")
        server = subprocess.Popen(
            ["redis-server", node, "--unixsocket", self.socket, "--cluster-port",
             str(fakeserver.free_port())], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        daemon.poll(lambda: server.poll() is not None or "Could not connect"
                    not in self.ask("admin", "PING"), "an answer")
        if server.poll() is not None:
            self.fail(server.stdout.read())

    def ask(self, user, *words, password="secret"):
        done = subprocess.run(
            ["redis-cli", "-s", self.socket, "--user", user, "--pass", password,
             "--no-auth-warning", *words], timeout=daemon.BOUND, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.strip()

    def test_nobody(self):
        self.start(hash=NOBODY)
        for user in "forefetch", "admin", "default":
            for password in "", NOBODY, "secret":
                self.assertRegex(self.ask(user, "PING", password=password),
                                 "WRONGPASS|NOAUTH")

    def test_machines(self):
        self.start(hash=hashlib.sha256(b"secret").hexdigest())
        for words, answer in (("PING", "PONG"), ("SET ff:ab:d:1 x EX 100", "OK"),
                              ("GET ff:ab:d:1", "x"), ("SCAN 0", "ff:ab:d:1"),
                              ("DEL ff:ab:d:1", "1"), ("UNLINK ff:ab:d:1", "0"),
                              ("INFO", "redis_version"), ("ASKING", "cluster"),
                              ("CLUSTER SLOTS", "cluster"),
                              ("CLUSTER MYID", "cluster"),
                              ("COMMAND INFO get", "get")):
            got = self.ask("forefetch", *words.split())
            self.assertIn(answer, got)
            self.assertNotIn("NOPERM", got)
        for words in ("GET other", "SET other x", "FLUSHALL", "CONFIG GET dir",
                      "KEYS ff:*", "ACL LIST", "CLUSTER RESET", "COMMAND", "MONITOR"):
            self.assertIn("NOPERM", self.ask("forefetch", *words.split()), words)
        for key, value in (("maxmemory-policy", "allkeys-lru"), ("save", ""),
                           ("appendonly", "no")):
            self.assertEqual(self.ask("admin", "CONFIG", "GET", key),
                             (key + "\n" + value).strip())

    def test_cluster(self):
        self.start("cluster.conf", hash=hashlib.sha256(b"secret").hexdigest())
        self.assertIn("cluster_enabled:1", self.ask("admin", "INFO", "cluster"))
        self.assertEqual(self.ask("forefetch", "CLUSTER", "SLOTS"), "")
        self.assertEqual(self.ask("replica", "PING"), "PONG")
        self.assertIn("NOPERM", self.ask("replica", "GET", "ff:ab:d:1"))


if __name__ == "__main__":
    daemon.main()
