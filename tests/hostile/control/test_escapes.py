#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that whoever may write on the server has chosen, in the output of every
command: none of them reaches a terminal as it is, begins a line, or turns the
direction of what stands beside it; and JSON has each as it was."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
import rpc
from commands import Commands
from daemon import poll
from rpc import opaque, u32, u64
from tree import cookie_of

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NAMES = [
    b"\x1b]0;owned\x07\x1b[31m\x1b[2J",
    b"two\nlines\r\n  and more\ttabs\x0b\x0c",
    b"\x01\x02\x08\x7f\x1f",
    "\x9b2J\x85\x90".encode(),
    BIDI.encode(),
    ("all.txt" + "\u202e" + "cod").encode(),
    b"\xff\xfe\xc3\x28\xe2\x80\xed\xa0\x80\xf5\x80",
    b"\n" * 255,
    b"\xff" * 255,
    ("\u202e" * 85).encode(),
    b"\"quoted' \\x1b \\\\ $(reboot) `x`",
    "plain \u00e4\u00f6\u65e5\u672c \U000e0001".encode(),
]
# No output may have these but a newline at the end of its own lines.
BAD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f%s\u2028\u2029]" % BIDI)
EXPORT = b"/srv/\x1b[31m\xe2\x80\xae\xff"


def handle(name):
    return b"h-%d" % NAMES.index(name)


class Escapes(Commands):
    settings = dict(Commands.settings, daemon={"log_level": "debug"})
    size = 100

    def setUp(self):
        super().setUp()
        self.up.script(rpc.LOOKUP, self.lookup)
        with self.ff.connect() as c:
            for export in (b"/srv", EXPORT):
                c.call(rpc.MNT, opaque(export), prog=rpc.MOUNT)
            for _ in range(3):
                self.use(c)
        for name in NAMES:
            open(os.path.join(os.fsencode(self.mount), name), "w").close()

    def name_of(self, handle):
        return (NAMES[int(handle[2:])] if handle.startswith(b"h-")
                else super().name_of(handle))

    def attr(self, name):
        return rpc.fattr(rpc.DIR, 7) if name == b"root" else rpc.fattr(
            rpc.REG, 100 + len(name) + sum(name), size=self.size)

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        return (rpc.lookup_ok(handle(name), self.attr(name))
                if name in NAMES else u32(rpc.NOENT, 0))

    def list(self, call):
        at = cookie_of(call)[1]
        out = u32(0, 1) + self.attr(b"root") + b"verifier"
        for i, name in enumerate(NAMES[at:at + 1], at):
            out += (u32(1) + u64(1000 + i) + opaque(name) + u64(i + 1) +
                    u32(1) + self.attr(name) + u32(1) + opaque(handle(name)))
        return out + u32(0, int(at + 1 >= len(NAMES)))

    def use(self, c):
        """By one user, all; and by one for each, as the root of a tree."""
        c.nfs(rpc.ACCESS, rpc.access_args(rpc.ROOT))
        for name in NAMES:
            c.nfs(rpc.LOOKUP, rpc.lookup_args(name))
            c.nfs(rpc.ACCESS, rpc.access_args(handle(name)))
            c.nfs(rpc.READ, rpc.read_args(handle(name), 0, 50))
        for i, name in enumerate(NAMES):
            for used in (name, NAMES[0], NAMES[1]):
                c.nfs(rpc.READ, rpc.read_args(handle(used), 0, 50),
                      cred=rpc.auth_sys(uid=5000 + i, gid=5000))

    def raw(self, *args, stdin=b""):
        """Runs the command; all that it writes, on both ways, is harmless."""
        done = subprocess.run(
            [daemon.binary("forefetch"), *args], input=stdin,
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=daemon.BOUND)
        for way in (done.stdout, done.stderr):
            try:
                text = way.decode()
            except UnicodeDecodeError as error:
                self.fail("%s: %r: %s" % (args, way, error))
            found = BAD.search(text)
            self.assertIsNone(found, (args, text))
        return done.stdout

    def json_of(self, *args, **kw):
        out = self.raw(*args, "--json", **kw)
        return [json.loads(line) for line in out.splitlines()]

    def strings(self, value):
        if isinstance(value, dict):
            for inner in value.values():
                yield from self.strings(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from self.strings(inner)
        elif isinstance(value, str):
            yield value.encode("utf-8", "surrogateescape")

    def names(self):
        _, out, _ = self.run_it("help")
        return set(re.findall(r"^  ([a-z-]+) ", out, re.M))

    def paths(self):
        return [os.path.join(os.fsencode(self.mount), n) for n in NAMES]

    def test_every_command(self):
        seen = set()

        def show(*args, **kw):
            seen.add(args[0])
            self.raw(*args, **kw)
            return self.json_of(*args, **kw)
        for args in (("status",), ("status", "-v"), ("status", "--check"),
                     ("stats",), ("stats", "-v"), ("reload",),
                     ("pause", "--for", "1h"), ("resume",),
                     ("trees", "list"), ("reorder",), ("farm", "status"),
                     ("pins",), ("log-level",)):
            show(*args)
        for path in self.paths():
            for command in ("explain", "warm", "pin", "hint", "unpin"):
                got = show(command, path)
                if command not in ("unpin", "hint"):
                    self.assertIn(path, list(self.strings(got)), command)
        lists = b"".join(p.replace(b"\n", b"?") + b"\n" for p in self.paths())
        show("hint", "-", stdin=lists)
        # Files of the user's own, and words that are none.
        for path in self.paths()[1:7]:
            self.raw("drop", path)
            self.raw("trees", "import", path)
            self.raw("trees", "show", NAMES[0])
            self.raw("farm", "key", path)
            self.raw("trace", "start", os.path.join(path, b"x"))
            self.raw("trees", "merge", path, path, "-o", path)
            self.raw(path)
            self.raw("status", b"--" + NAMES[0])
            self.raw("status", "--server", path)
            self.raw("probe", path[-40:])
            self.raw("mount", path, path)
            self.raw("umount", path)
            self.raw("bench", path, path)
        seen |= {"mount", "umount", "bench", "probe", "trace", "help"}
        self.raw("mount")
        self.raw("help", NAMES[0])
        self.raw("doctor")
        self.raw("drop", "--dry-run")
        self.raw("drop")
        self.raw("bugreport", "-o", "-")
        seen |= {"doctor", "drop", "bugreport", "top"}  # top: below
        self.assertEqual(self.names() - seen, set())

    def test_trees(self):
        trees, = self.json_of("trees", "list")
        self.assertLessEqual(set(NAMES), set(self.strings(trees)))
        lines = self.raw("trees", "list").splitlines()
        self.assertEqual(len(lines), 1 + len(trees["trees"]))
        for tree in trees["trees"]:
            shown = self.raw("trees", "show", tree["id"])
            self.assertEqual(len(shown.splitlines()), tree["objects"])

    def test_top(self):
        self.up.script(rpc.READ, fakeserver.HOLD)
        with self.ff.connect() as c:
            for i, name in enumerate(NAMES):
                c.send(rpc.READ, rpc.read_args(handle(name), 50, 40))
            self.up.wait(rpc.READ)
            self.raw("top", "--once", "--interval", "0.1")
            poll(lambda: set(self.strings(self.json_of(
                "top", "--once", "--interval", "0.1"))) & set(NAMES),
                "names are shown")
        self.up.script(rpc.READ, self.read)

    def tearDown(self):
        self.bystander_alive()
        with open(self.ff.log_path, "rb") as f:
            log = f.read()
        self.assertIsNone(BAD.search(log.decode()))
        self.assertNotIn(b"\n  and more", log)


if __name__ == "__main__":
    daemon.main()
