# SPDX-License-Identifier: GPL-2.0-or-later
"""forefetchd under test: start, look at, stop, and what must hold after it."""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import fakeserver
import rpc

BUILD = os.environ.get("FF_BUILD", "")
SLOW = os.environ.get("FF_SLOW") == "1"
BOUND = 10.0 # seconds that any condition may take to become true
ASAN = "detect_leaks=1:quarantine_size_mb=8:malloc_context_size=8"
# The umask of an ordinary user may be 002, but the daemon keeps nothing where a
# group may write.
os.umask(0o022)
MARKS = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "Assertion")


def binary(name):
    path = os.path.join(BUILD, "proxy", name)
    return path if os.access(path, os.X_OK) else os.path.join(BUILD, name)


def on_tmpfs():
    """A directory on a tmpfs, where the reply cache outlives a kill; or
    None."""
    for path in ("/dev/shm", "/run"):
        out = subprocess.run(["stat", "-f", "-c", "%T", path],
                             stdout=subprocess.PIPE, text=True)
        if out.stdout.strip() == "tmpfs" and os.access(path, os.W_OK):
            return path
    return None


TMPFS = on_tmpfs()


def environment():
    env = dict(os.environ, ASAN_OPTIONS=ASAN,
               UBSAN_OPTIONS="print_stacktrace=1")
    env.pop("JOURNAL_STREAM", None)
    return env


def poll(condition, what, bound=BOUND):
    """Wait until a condition holds; its value."""
    end = time.monotonic() + bound
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (bound, what))
        time.sleep(0.01)


def run(*args, program=None, **kw):
    program = program or binary("forefetchd")
    return subprocess.run([program, *args], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=BOUND, **kw)


class Daemon:
    """One configuration in a directory of its own; started and stopped at
    will."""

    def __init__(self, upstream, daemon=None, **server):
        self.dir = tempfile.mkdtemp(prefix="ff-hostile-")
        self.port = fakeserver.free_port()
        self.file = os.path.join(self.dir, "conf")
        self.run = tempfile.mkdtemp(prefix="ff-hostile-", dir=TMPFS)
        # As /run/forefetch: every user may ask.
        os.chmod(self.run, 0o755)
        self.socket = os.path.join(self.run, "control.sock")
        self.drc = os.path.join(self.run, "nas.drc")
        self.env, self.args = {}, []
        self.log_path = os.path.join(self.dir, "log")
        self.top = {"cache_dir": os.path.join(self.dir, "cache"),
                    "control_socket": self.socket}
        self.server = {"address": "127.0.0.1", "nfs_port": upstream,
                       "mount_port": upstream, "secure": "no",
                       "listen": "127.0.0.1:%d" % self.port}
        self.top.update(daemon or {})
        self.server.update(server)
        self.process = None
        self.probes = 0  # connections that looked whether it listens
        open(self.log_path, "w").close()
        self.write_config()

    def write_config(self, **server):
        self.server.update(server)
        with open(self.file, "w") as f:
            f.write("[forefetch]\n")
            f.writelines("%s = %s\n" % kv for kv in self.top.items())
            f.write("[server nas]\n")
            f.writelines("%s = %s\n" % kv for kv in self.server.items())

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [binary("forefetchd"), "-F", "-f", self.file, *self.args],
                stderr=log, stdout=log, env=dict(environment(), **self.env))
        poll(self.listens, "the daemon listens")
        return self

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("it exited:\n" + self.log())
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            self.probes += 1
            # A daemon that was killed has left its socket behind.
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(self.socket)
            return True
        except (ConnectionRefusedError, FileNotFoundError):
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def hup(self):
        """Reload; the log line that says what came of it."""
        before = self.log().count("reloaded")
        self.process.send_signal(signal.SIGHUP)
        poll(lambda: self.log().count("reloaded") > before, "it reloads")
        return [l for l in self.log().splitlines() if "reloaded" in l][-1]

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def lines(self, *words):
        """Log lines that hold all these words."""
        return [l for l in self.log().splitlines()
                if all(w in l for w in words)]

    def control(self, command):
        out = subprocess.run(
            [binary("forefetch"), "--socket", self.socket, "--json", command],
            env=environment(), stdout=subprocess.PIPE, timeout=BOUND,
            check=True)
        return json.loads(out.stdout)["servers"][0]

    def counter(self, name):
        return self.control("stats")["counters"][name]

    def counted(self, name, n):
        """Wait until a counter has reached a value; fail where it passed."""
        end = time.monotonic() + BOUND
        value = self.counter(name)
        while value < n and time.monotonic() < end:
            time.sleep(0.01)
            value = self.counter(name)
        if value != n:
            raise AssertionError("%s: %d, want %d" % (name, value, n))

    def clients(self, n):
        poll(lambda: len(self.control("status")["clients"]) == n,
             "%d clients" % n)

    def rss_kib(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return int(next(l for l in f if l.startswith("VmRSS")).split()[1])

    def connect(self, **kw):
        return rpc.Client(self.port, **kw)

    def stop(self):
        """TERM; it must be alive before and leave in good order."""
        if not self.process or self.process.returncode is not None:
            return
        alive = self.process.poll() is None
        self.process.terminate()
        try:
            code = self.process.wait(BOUND)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("it does not stop on TERM:\n" + self.log())
        if not alive or code != 0:
            raise AssertionError(
                "it died or exited with %d:\n%s" % (code, self.log()))

    def close(self):
        try:
            self.stop()
            for mark in MARKS:
                if mark in self.log():
                    raise AssertionError(self.log())
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            shutil.rmtree(self.dir, ignore_errors=True)
            shutil.rmtree(self.run, ignore_errors=True)


class Case(unittest.TestCase):
    """A fake server, a daemon before it, and a client that does no wrong."""
    settings = {}

    def setUp(self):
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.ff = self.start_daemon(**self.settings)

    def start_daemon(self, **kw):
        ff = Daemon(self.up.port, **kw)
        self.addCleanup(ff.close)
        return ff.start()

    def connect(self, **kw):
        client = self.ff.connect(**kw)
        self.addCleanup(client.close)
        return client

    def bystander(self, offset=0, count=64):
        """Another client, connected meanwhile, gets right answers."""
        with self.ff.connect() as c:
            st, r = c.nfs(rpc.READ, rpc.read_args(offset=offset, count=count))
            self.assertEqual(st, 0)
            self.assertEqual(r.u32(), 0)
            self.assertEqual(r.u32(), count)
            r.u32()
            self.assertEqual(r.opaque(), rpc.pattern(offset, count))

    def assertRpcError(self, reply, stat, detail=None):
        self.assertTrue(reply.accepted, reply)
        self.assertEqual(reply.stat, stat)
        if detail:
            self.assertEqual(reply.detail, detail)

    def assertAuthError(self, reply, why):
        self.assertFalse(reply.accepted, reply)
        self.assertEqual((reply.stat, reply.detail), (rpc.AUTH_ERROR, why))


def main():
    global BUILD
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--build", default=BUILD)
    args, rest = parser.parse_known_args()
    BUILD = args.build
    if not BUILD or not os.access(binary("forefetchd"), os.X_OK):
        sys.exit("no forefetchd: give its build directory by --build DIR or "
                 "by FF_BUILD")
    BUILD = os.path.abspath(BUILD)
    unittest.main(module="__main__", argv=[sys.argv[0]] + rest)
