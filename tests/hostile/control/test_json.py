#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command's --json prints one value, units in the names, null for what
is not there, and the members that the manual lists."""
import json
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
import rpc
from commands import Commands

MANUAL = os.path.join(HERE, *[os.pardir] * 3, "docs", "forefetch.1")
# Other units, or none where there must be one.
WRONG = re.compile(r"(_(ms|ns|s|sec|seconds|minutes|kib|kb|mb)|"
                   r"(^|_)(rate|age|time|timeout|rtt))$")
RIGHT = re.compile(r"_(unix_seconds|bytes_per_second|bits_per_second|us)$")


def walk(value, path=()):
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, path + (key,))
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, path)


class Json(Commands):
    def look(self, value, *known):
        """Of a value: its names and what is in it. `known`: names of the top."""
        self.assertIsInstance(value, dict)
        for path, inner in walk(value):
            key = path[-1] if path else ""
            self.assertNotEqual(inner, "", path)
            # Counters and gauges have the names of the statistics.
            if "counters" in path or "gauges" in path:
                continue
            self.assertTrue(RIGHT.search(key) or not WRONG.search(key), path)
            if key:
                self.assertTrue(key in self.manual, "not in the manual: %s" %
                                ".".join(path))
        self.assertLessEqual(set(known), set(value))
        return value

    def setUp(self):
        super().setUp()
        with open(MANUAL) as f:
            text = f.read().split(".Sh JSON OUTPUT")[1].split(".Sh ENV")[0]
        self.manual = set(re.findall(r"[a-z][a-z0-9_]+", text))

    def path(self, name=""):
        return os.path.join(self.mount, name).rstrip("/")

    def test_status(self):
        st = self.look(self.json("status"), "version", "pid", "uptime_us",
                       "config_file", "cache_dir", "servers", "reload_error",
                       "reload_restart",
                       "reload_age_us", "clients_bytes",
                       "clients_limit_bytes", "farm")
        self.assertIsNone(st["farm"])
        self.assertIsNone(st["reload_error"])
        self.assertIsNone(st["reload_restart"])
        self.assertIsNone(st["reload_age_us"])
        self.assertLess(0, st["uptime_us"])
        srv, = st["servers"]
        self.assertIsNone(srv["offline_age_us"])
        self.assertIsNone(srv["caches"]["disk_problem"])
        self.assertIsNone(srv["caches"]["disk_problem_age_us"])

    def test_check(self):
        self.assertEqual(self.look(self.json("status", "--check")),
                         {"ok": True, "problems": [], "warnings": []})
        self.up.down()
        daemon.poll(lambda: self.run_it("status", "--check")[0] == 1, "it is")
        self.look(self.json("status", "--check", code=1), "ok", "problems",
                  "warnings")

    def test_stats(self):
        srv, = self.look(self.json("stats"), "servers")["servers"]
        self.assertIsNone(srv["prefetch"]["accuracy_permille"])

    def test_top(self):
        self.up.script(rpc.LOOKUP, fakeserver.HOLD)
        with self.ff.connect() as c:
            c.send(rpc.LOOKUP, rpc.lookup_args(b"file"))
            self.up.wait(rpc.LOOKUP)
            value = self.json("top", "--once", "--interval", "0.1")
        self.look(value, "away", "away_reason", "farm", "servers")
        srv, = value["servers"]
        self.assertEqual(len(srv["activity"]["calls"]), 1)
        self.assertEqual(len(srv["activity"]["jobs"]), 1)

    def test_drop(self):
        with self.ff.connect() as c:
            c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        held = self.json("drop", "--dry-run")
        self.assertGreater(held["servers"][0]["objects"], 0)
        self.assertEqual(self.json("drop"), held)
        self.look(held, "servers")

    def test_drop_path(self):
        value = self.look(self.json("drop", self.path("file")), "path",
                          "export_path", "found", "objects")
        self.assertEqual(value["objects"], 0)
        self.assertEqual(
            self.run_it("drop", "--dry-run", self.path("file"))[0], 2)

    def test_reorder(self):
        srv, = self.look(self.json("reorder"), "servers")["servers"]
        self.assertEqual(srv["end"], "not-used")

    def test_reload(self):
        self.look(self.json("reload"), "changes")
        self.ff.write_config(prefetch="off")
        change, = self.look(self.json("reload"))["changes"]
        self.assertEqual(change, {"server": "nas", "setting": "prefetch",
                                  "kind": "changed", "why": None})

    def test_walks(self):
        where = {"path": self.path(), "export_path": "/srv"}
        for command, name in ("warm", "trees"), ("pin", "pins"):
            value = self.look(self.json(command, self.path()), name)
            self.assertLessEqual(where.items(), value[name][0].items())
        self.look(self.json("pins"), "pins", "pinned_bytes", "limit_bytes")
        self.look(self.json("unpin", self.path()), "removed")

    def test_explain(self):
        got = self.look(self.json("explain", self.path("absent")))
        self.assertEqual((got["path"], got["export_path"]),
                         (self.path("absent"), "/srv/absent"))
        self.assertNotEqual(got["found"], "object")
        for key in ("attr_age_us", "rights_age_us", "size", "prefetch"):
            self.assertIsNone(got[key], key)
        self.json("warm", self.path())
        self.look(self.json("explain", self.path("file")))

    def test_hint(self):
        self.look(self.json("hint", self.path("absent")))

    def test_pause(self):
        self.look(self.json("pause", "--for", "1h"), "servers")
        hold = self.look(self.json("status"))["servers"][0]["hold"]
        self.assertLess(3590000000, hold["pause_left_us"])
        self.look(self.json("resume"), "servers")

    def test_trees(self):
        self.look(self.json("trees", "list"), "trees", "total")
        out = os.path.join(self.ff.dir, "trees")
        self.look(self.json("trees", "export", out))
        self.look(self.json("trees", "merge", out))
        self.look(self.json("trees", "clear"))

    def test_farm(self):
        file = os.path.join(self.ff.dir, "key")
        self.look(self.json("farm", "key", file), "file", "prefix")
        got = self.look(self.json("farm", "status"), "farm", "servers")
        self.assertEqual(got, {"farm": None,
                               "servers": [{"name": "nas", "farm": None}]})

    def test_top(self):
        self.json("warm", self.path())
        self.look(self.json("top", "--once"), "servers", "away", "away_reason",
                  "farm")

    def test_doctor(self):
        """Whatever it finds here."""
        code, out, _ = self.run_it("doctor", "--json")
        self.assertIn(code, (0, 1))
        self.look(json.loads(out), "ok", "failed", "warned", "groups")
        _, out, _ = self.run_it(
            "probe", "127.0.0.1", "--nfs-port", str(self.up.port),
            "--mount-port", str(self.up.port), "--json")
        self.look(json.loads(out), "server", "ok", "findings")

    def test_mount(self):
        self.look(self.json("mount"), "mounts")

    def test_trace(self):
        out = os.path.join(self.ff.dir, "trace")
        self.look(self.json("trace", "start", out), "file", "pid")
        self.look(self.json("trace", "stop"), "stopped")


if __name__ == "__main__":
    daemon.main()
