#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`forefetch top`: whose calls somebody is shown, names that a terminal would
obey, bounds, a daemon that goes away, keys and sizes."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
import rpc
from daemon import poll
from tree import (ALICE, BOB, Control, Tree, being, cred, each_field, field,
                  fields, fh, place)

ACTIVITY, HINT = 29, 24
ESCAPE = b"\x1b[2J\x1b]0;x\x07"


def repeated(data, number):
    """All values of a field of bytes."""
    return [value for n, value in each_field(data)
            if n == number and isinstance(value, bytes)]


class Top(daemon.Case):
    def setUp(self):
        super().setUp()
        self.client = self.connect()

    def hold(self, name, uid=0, n=1):
        """Lookups that the server does not answer."""
        before = len(self.up.seen(rpc.LOOKUP))
        self.up.script(rpc.LOOKUP, fakeserver.HOLD)
        for i in range(n):
            self.client.send(rpc.LOOKUP,
                             rpc.lookup_args(name + (b"%d" % i if i else b"")),
                             cred=cred(uid))
        self.up.wait(rpc.LOOKUP, before + n)

    def command(self, *args, **kw):
        return subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "top",
             *args], env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            timeout=daemon.BOUND, **kw)

    def activity(self):
        out = self.command("--once", "--json", "--interval", "0.1")
        self.assertEqual(out.returncode, 0, out.stderr)
        return json.loads(out.stdout)["servers"][0]["activity"]


class Users(Top):
    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can be others")
        groups = os.getgroups()
        os.setgroups([])
        self.addCleanup(os.setgroups, groups)
        super().setUp()

    def test_others_are_counted(self):
        self.hold(b"secret", ALICE)
        self.hold(b"known", BOB)
        for names in False, True:
            server = activity_of(self.ff, BOB, names)
            self.assertNotIn(b"secret", server)
            self.assertIn(b"known", server)
            self.assertEqual(len(repeated(server, 2)), 1)
            self.assertEqual(fields(server)[3], 1)
            # Who waits, too: two, of whom one is told.
            self.assertEqual(len(repeated(server, 6)), 1)
            self.assertEqual(fields(server)[7], 1)
            server = activity_of(self.ff, 0, names)
            self.assertIn(b"secret", server)
            self.assertEqual(len(repeated(server, 2)), 2)


def activity_of(ff, uid, names=False):
    """Returns what a user is told of the server."""
    with being(uid):
        control = Control(ff)
    try:
        got = control.ask(ACTIVITY,
                          field(1, b"nas") + (field(2, 1) if names else b""))
    finally:
        control.close()
    assert -1 not in got
    return got[1]


class Ahead(Tree):
    """A hint of Alice has a file fetched for her, which Bob is not told."""
    size = 2048  # one READ brings all

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can be others")
        groups = os.getgroups()
        os.setgroups([])
        self.addCleanup(os.setgroups, groups)
        super().setUp()
        os.chmod(self.ff.dir, 0o755)
        self.up.script(rpc.LOOKUP, lambda call: rpc.lookup_ok(
            fh(b"file"), self.attr(b"file")))
        self.client = self.connect()
        self.client.call(rpc.MNT, rpc.opaque(b"/srv"), prog=rpc.MOUNT)

    def attr(self, name):
        # As in its listings, or it would seem to change all the time.
        return rpc.fattr(rpc.DIR) if name == b"root" else super().attr(name)

    def ahead(self, verb):
        subprocess.run([daemon.binary("forefetch"), "--socket",
                        self.ff.socket, verb], env=daemon.environment(),
                       stdout=subprocess.DEVNULL, check=True,
                       timeout=daemon.BOUND)

    def look(self):
        """Both look it up, and nothing is fetched for that."""
        self.ahead("pause")
        for uid in ALICE, BOB:
            self.client.nfs(rpc.ACCESS, rpc.access_args(), cred=cred(uid))
            self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file"),
                            cred=cred(uid))
        self.ahead("resume")

    def test_directories(self):
        """Of what is named, the directory is named, too, and is clean."""
        self.ahead("pause")
        above = ESCAPE + b"above"

        def lookup(call):
            r = call.reader()
            r.opaque()
            name = b"dir" if r.opaque() == above else b"file"
            return rpc.lookup_ok(fh(name), self.attr(name))
        self.up.script(rpc.LOOKUP, lookup)
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(above))
        self.client.nfs(rpc.LOOKUP, rpc.lookup_args(b"file", fh(b"dir")))
        self.up.script(rpc.READ, fakeserver.HOLD)
        self.client.send(rpc.READ, rpc.read_args(fh(b"file")))
        self.up.wait(rpc.READ)
        call, = [fields(x) for x in repeated(activity_of(self.ff, 0, True), 2)]
        self.assertEqual((call[12], call[8]), (above, b"file"))
        out = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "top",
             "--once"], env=dict(daemon.environment(), COLUMNS="200"),
            stdout=subprocess.PIPE, timeout=daemon.BOUND).stdout
        self.assertIn(rb"\x1b[2J\x1b]0;x\x07above/file", out)
        self.assertNotIn(b"\x1b", out)

    def test_own_only(self):
        self.look()
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or
                       fakeserver.HOLD)
        with being(ALICE):
            hints = Control(self.ff)
        self.addCleanup(hints.close)
        hints.ask(HINT, field(1, place(self.ff)))
        hints.ask(HINT, field(2, field(1, 1) + field(2, b"file") +
                              field(5, 4096)))
        poll(lambda: held, "it is fetched")
        server = activity_of(self.ff, ALICE)
        rows = [fields(row) for row in repeated(server, 4)]
        self.assertIn((b"READ", b"hint", ALICE),
                      [(row.get(1), row[2], row[4]) for row in rows])
        server = activity_of(self.ff, BOB)
        self.assertEqual(repeated(server, 4), [])
        self.assertLessEqual(1, fields(server)[5])
        self.up.script(rpc.READ, self.read)
        for call in held:
            call.reply(self.read(call))

        def became(uid):
            rows = repeated(activity_of(self.ff, uid), 9)
            return {fields(fields(row)[4])[1] for row in rows}
        poll(lambda: not repeated(activity_of(self.ff, 0), 4), "it has come")
        for _ in range(2):
            self.client.nfs(rpc.ACCESS, rpc.access_args(fh(b"file")),
                            cred=cred(ALICE))
            self.client.nfs(rpc.READ, rpc.read_args(fh(b"file"), count=1024),
                            cred=cred(ALICE))
        poll(lambda: b"used" in became(ALICE), "it is used")
        self.assertNotIn(b"used", became(BOB))


class Text(Top):
    def test_names_that_a_terminal_obeys(self):
        self.hold(ESCAPE + b"\xff\xc2\x9bname")
        out = self.command("--once", "--interval", "0.1")
        self.assertEqual(out.returncode, 0, out.stderr)
        for bad in b"\x1b", b"\x07", b"\xff", b"\xc2\x9b":
            self.assertNotIn(bad, out.stdout)
        self.assertIn(rb"\x1b[2J\x1b]0;x\x07\xff\xc2\x9bname", out.stdout)
        # JSON gives the bytes back.
        call = self.activity()["calls"][0]
        self.assertEqual(call["entry"].encode(errors="surrogateescape"),
                         ESCAPE + b"\xff\xc2\x9bname")

    def test_why_it_waits(self):
        self.hold(b"file", 1000)
        call = self.activity()["calls"][0]
        self.assertEqual((call["procedure"], call["cause"], call["uid"]),
                         ("LOOKUP", "not cached", 1000))
        poll(lambda: self.activity()["jobs"][0]["server_slow_us"] > 100000,
             "the server is slow")

    def test_bounds(self):
        self.hold(b"x", n=100)
        got = self.activity()
        self.assertEqual(len(got["calls"]), 64)
        self.assertEqual(got["calls_omitted"], 36)
        ages = [c["age_us"] for c in got["calls"]]
        self.assertEqual(ages, sorted(ages, reverse=True))

    def test_columns(self):
        self.hold(b"n" * 255)
        for columns in 20, 40, 80, 300:
            with unittest.mock.patch.dict(os.environ, COLUMNS=str(columns)):
                out = self.command("--once", "--interval", "0.1")
            self.assertEqual(out.returncode, 0, out.stderr)
            for line in out.stdout.decode().splitlines():
                self.assertLessEqual(len(line), columns)

    def test_usage(self):
        for args in (("-n", "0"), ("-n", "x"), ("--once", "-n", "2"),
                     ("--interval", "0"), ("a", "b"), ("--what",)):
            out = self.command(*args)
            self.assertEqual(out.returncode, 2, args)
            self.assertTrue(out.stderr, args)
        out = self.command("--once", "nobody")
        self.assertEqual(out.returncode, 1)
        self.assertIn(b"no server of that name", out.stderr)


class Away(Top):
    def lines(self, *args):
        out = subprocess.Popen(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "top",
             "--json", "--interval", "0.1", *args],
            env=daemon.environment(), stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(out.stdout.close)
        self.addCleanup(out.wait)
        self.addCleanup(out.kill)
        return out

    def until(self, out, condition):
        for line in out.stdout:
            value = json.loads(line)
            if condition(value):
                return value
        raise AssertionError("it ended")

    def test_it_comes_back(self):
        out = self.lines()
        self.until(out, lambda v: not v["away"])
        self.ff.kill()
        self.until(out, lambda v: v["away"] and v["servers"] == [])
        self.ff.start()
        value = self.until(out, lambda v: not v["away"])
        # Neither less than nothing nor all since the start.
        self.assertIsNone(value["servers"][0]["calls_per_second"])
        self.until(out, lambda v: v["servers"][0]["calls_per_second"] == 0)

    def test_a_number_ends(self):
        out = self.lines("-n", "1000")
        self.until(out, lambda v: not v["away"])
        self.ff.kill()
        self.until(out, lambda v: v["away"])
        self.assertEqual(out.wait(daemon.BOUND), 1)
        self.ff.start()

    def test_not_there(self):
        self.ff.stop()
        out = self.command("--once")
        self.assertEqual(out.returncode, 1)
        self.assertIn(b"not running", out.stderr)
        self.ff.start()

    def test_nobody_reads(self):
        out = self.lines()
        out.stdout.readline()
        out.stdout.close()
        out.wait(daemon.BOUND)


class Plain(Top):
    """In a terminal that can do nothing, and where UTF-8 is not wanted."""

    def printed(self, *args, **env):
        pid, tty = pty.fork()
        if pid == 0:
            os.environ.update(daemon.environment(), **env)
            os.execv(daemon.binary("forefetch"),
                     ["forefetch", "--socket", self.ff.socket, *args])
        out = b""
        try:
            while part := os.read(tty, 65536):
                out += part
                if out.count(b"Who waits") > 1: # it goes on for ever
                    os.kill(pid, signal.SIGKILL)
        except OSError: # it has ended
            pass
        os.close(tty)
        os.waitpid(pid, 0)
        return out

    def test_dumb(self):
        self.assertNotIn(b"\033", self.printed(
            "top", "--interval", "0.1", TERM="dumb"))

    def test_no_utf8(self):
        self.hold("\u00fc".encode() * 90)
        for args in ("top", "--once"), ("status",), ("doctor",):
            out = self.printed(*args, LC_ALL="C", TERM="dumb")
            self.assertTrue(out.isascii(), out)
        self.assertIn(rb"\xc3\xbc", self.printed("top", "--once", LC_ALL="C"))
        self.assertIn("\u00fc".encode(), self.printed("top", "--once",
                                                     LC_ALL="C.UTF-8"))


class Live(Top):
    """In a terminal."""

    def setUp(self):
        super().setUp()
        self.pid, self.tty = pty.fork()
        if self.pid == 0:
            os.environ.update(daemon.environment(), TERM="xterm-256color")
            os.execv(daemon.binary("forefetch"),
                     ["forefetch", "--socket", self.ff.socket, "top",
                      "--interval", "0.1"])
        self.status = None
        self.seen = b""
        self.addCleanup(os.close, self.tty)
        self.addCleanup(self.end)

    def end(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def read(self):
        while select.select([self.tty], [], [], 0)[0]:
            try:
                data = os.read(self.tty, 65536)
            except OSError:
                return
            self.seen += data

    def shown(self, text):
        def look():
            self.read()
            return text in self.seen
        poll(look, text)

    def press(self, keys):
        self.seen = b""
        os.write(self.tty, keys)

    def resize(self, columns, rows):
        self.seen = b""
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def ended(self):
        def look():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid
        poll(look, "it ends")
        return self.status

    def test_keys(self):
        self.shown(b"Who waits")
        self.press(b"h")
        self.shown(b"round trip")
        self.press(b"h")
        self.shown(b"Who waits")
        self.press(b"p")
        self.shown(b"PAUSED")
        self.press(b"p")
        self.press(b"s")
        self.shown(b"calls")
        self.press(b"w\x1b[C\x1b[D\x1b[B zzz\x0c\t")
        self.press(b"q")
        self.assertEqual(self.ended(), 0)
        # The terminal is as it was.
        self.assertIn(b"\x1b[?1049l", self.seen)

    def test_section(self):
        self.hold(b"one-long-name")
        self.shown(b"Who waits")
        self.press(b"\t\t")
        self.shown(b"details")
        self.press(b"\x1bOB\x1bOA\x1b[6~\x1b[5~\r")
        self.shown(b"PAUSED")
        # Letters are text while a filter is typed, and Esc ends that.
        self.press(b"\r/qzz\x7f")
        self.shown(b"no row has the text")
        self.press(b"\x1b")
        self.shown(b"one-long-name")
        self.press(b"q")
        self.assertEqual(self.ended(), 0)

    def test_sizes(self):
        self.hold(b"n" * 255)
        self.shown(b"Who waits")
        for columns, rows in (40, 10), (200, 50), (1, 1), (2, 3), (500, 5):
            self.resize(columns, rows)
            self.press(b"w")
        self.resize(80, 24)

        def is_drawn():
            self.press(b"\x0c")
            self.shown(b"forefetch top")
            return b"Calls that wait" in self.seen
        poll(is_drawn, "it has the size of before")
        self.press(b"q")
        self.assertEqual(self.ended(), 0)

    def test_daemon_goes_and_comes(self):
        self.shown(b"Who waits")
        self.ff.kill()
        self.shown(b"is away")
        self.ff.start()

        def is_back():
            self.press(b"\x0c")  # it is drawn anew as a whole
            self.shown(b"Last predictions")
            return b"is away" not in self.seen
        poll(is_back, "it is back")
        self.press(b"q")
        self.assertEqual(self.ended(), 0)

    def test_signal(self):
        self.shown(b"Who waits")
        os.kill(self.pid, signal.SIGTERM)
        self.assertEqual(self.ended(), 0)
        self.assertIn(b"\x1b[?1049l", self.seen)


if __name__ == "__main__":
    daemon.main()
