#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands with --json that fail in the middle of their work: a program that
called them is told, in one value, what was done, what was not, and why."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import rpc
from commands import Commands
from fakeserver import HOLD

ACCES = 13


class Quitter:
    """In place of a daemon: it takes each question, and goes away, the answer
    cut off after `answer`."""

    def __init__(self, path, answer):
        self.sock, self.answer = socket.socket(socket.AF_UNIX), answer
        self.sock.bind(path)
        self.sock.listen(8)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            with conn:
                if conn.recv(1 << 16):
                    conn.sendall(self.answer)

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.sock.close()


class Halfway(Commands):
    def path(self, name=""):
        return os.path.join(self.mount, name).rstrip("/")

    def start(self, *args):
        process = subprocess.Popen(
            [daemon.binary("forefetch"), *args, "--json"], env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        """Its one value, and what stands on stderr."""
        out, err = process.communicate(timeout=daemon.BOUND)
        self.assertEqual(process.returncode, 1, (out, err))
        return json.loads(out), err.decode()

    def test_some_paths(self):
        for command, key in ("warm", "trees"), ("pin", "pins"):
            paths = "/no/such", "/", self.path(), self.path("gone")
            got = self.json(command, *paths, code=1)[key]
            self.assertEqual([x["path"] for x in got], list(paths), command)
            self.assertEqual([bool(x["error"]) for x in got],
                             [True, True, False, True], got)
            self.assertIn("/no/such", got[0]["error"])
            self.assertNotIn("/no/such", got[1]["error"])

    def test_refused(self):
        self.up.script(rpc.READ, lambda c: rpc.u32(ACCES, 0))
        for command, key in ("warm", "trees"), ("pin", "pins"):
            tree, = self.json(command, self.path(), code=1)[key]
            self.assertLess(0, tree.get("walk", tree)["refused"])
            self.assertTrue(tree["error"], command)

    def test_interrupted(self):
        """^C: how far it came, and what was not begun."""
        for command, key in ("warm", "trees"), ("pin", "pins"):
            self.up.script(rpc.READ, HOLD)
            reads = len(self.up.seen(rpc.READ))
            process = self.start(command, self.path(), self.path("dir"))
            self.up.wait(rpc.READ, reads + 1)
            process.send_signal(signal.SIGINT)
            value, _ = self.end(process)
            first, second = value[key]
            self.assertFalse(first.get("walk", first)["done"])
            self.assertLess(0, first.get("walk", first)["calls"])
            self.assertEqual(
                (first["error"], second),
                ("interrupted", {"path": self.path("dir"),
                                 "error": "interrupted"}))
            self.ff.kill()
            self.ff.start()

    def test_daemon_ends(self):
        """A command says what it last heard of, and that no more came."""
        self.up.script(rpc.READ, HOLD)
        for command, key in ("warm", "trees"), ("pin", "pins"):
            reads = len(self.up.seen(rpc.READ))
            process = self.start(command, self.path(), self.path("dir"))
            self.up.wait(rpc.READ, reads + 1)
            self.ff.kill()
            value, err = self.end(process)
            first, second = value[key]
            self.assertIn(first["error"], err)
            self.assertIn(second["error"], err)
            self.assertTrue(second["error"])
            self.assertFalse(first.get("walk", first)["done"])
            self.ff.start()

    def test_unpin(self):
        self.json("pin", self.path())
        got = self.json("unpin", self.path(), "/no/such", code=1)
        self.assertEqual(got["removed"], 1)
        error, = got["errors"]
        self.assertEqual(error["path"], "/no/such")
        self.assertTrue(error["error"])
        self.ff.kill()
        self.assertEqual(list(self.json("unpin", self.path(), code=1)),
                         ["error"])

    def test_hint(self):
        got = self.json("hint", self.path("file"), "/no/such", code=1)
        self.assertEqual((got["hints"], got["bad"]), (2, 1))
        self.assertIn("/no/such", got["error"])
        self.assertIsNone(self.json("hint", self.path("file"))["error"])

    def test_every_command(self):
        """Before a daemon that goes away after each question, with nothing, a
        part, or an answer that is none."""
        file = os.path.join(self.ff.dir, "file")
        open(file, "w").close()
        for i, answer in enumerate((b"", b"\0\0", b"\0\0\0\x40\x0a",
                                    b"\0\0\0\x02\xff\xff")):
            path = os.path.join(self.ff.dir, "quits%d" % i)
            quitter = Quitter(path, answer)
            try:
                for args in (
                        ["status"], ["status", "--check"], ["stats"], ["drop"],
                        ["drop", "--dry-run"], ["drop", self.path("file")],
                        ["top", "--once"], ["reorder"], ["reload"], ["pause"],
                        ["resume"], ["pins"], ["warm", self.path()],
                        ["pin", self.path()], ["unpin", self.path()],
                        ["hint", self.path("file")], ["explain", self.path()],
                        ["trace", "start", file + ".t"], ["trace", "stop"],
                        ["trees", "list"], ["trees", "show", "1"],
                        ["trees", "export", file + ".x"],
                        ["trees", "import", file], ["trees", "merge", file],
                        ["trees", "clear"], ["farm", "status"],
                        ["farm", "check"], ["farm", "flush"], ["mount"],
                        ["log-level"],
                        ["doctor"]):
                    with self.subTest(args=args, answer=answer):
                        self.one_value(args, path)
            finally:
                quitter.close()

    def one_value(self, args, socket_path):
        code, out, err = self.run_it(*args, "--json",
                                     FOREFETCH_SOCKET=socket_path)
        self.assertNotEqual(code, 0, (out, err))
        self.assertEqual(out.count("\n"), 1, (out, err))
        value = json.loads(out)
        told = [value.get("error")]
        for key in "trees", "pins", "errors":
            told += [x["error"] for x in value.get(key, [])]
        if args != ["doctor"]:  # which has findings
            self.assertTrue(any(told), (out, err))
            self.assertTrue(err)


if __name__ == "__main__":
    daemon.main()
