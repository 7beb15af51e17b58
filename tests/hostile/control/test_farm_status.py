#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Users are told of a farm by status, top, doctor, the page and Prometheus;
and by `forefetch farm` before a real redis-server."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import fakeserver
from farm import FarmDaemon, Redis

NO_FARM = "there is no farm in use"


class Case(daemon.Case):
    def run_it(self, *args):
        done = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, *args],
            env=daemon.environment(), stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def json(self, *args):
        return json.loads(self.run_it(*args, "--json")[1])

    def farm(self):
        return self.json("status")["farm"]

    def doctor(self):
        """The findings about the farm: state and fact of each."""
        groups = self.json("doctor")["groups"]
        return [(f["state"], f["fact"]) for g in groups for f in g["findings"]
                if f["what"] == "farm"]


class Without(Case):
    def test_none(self):
        self.assertIsNone(self.farm())
        self.assertIsNone(self.json("status")["servers"][0]["farm"])
        self.assertNotIn("farm", self.run_it("status")[1])
        code, out, _ = self.run_it("farm", "status")
        self.assertEqual(code, 0)
        self.assertIn("there is no farm", out)
        self.assertEqual(self.doctor(), [])
        for action in "check", "flush":
            code, out, err = self.run_it("farm", action)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(NO_FARM, err)


class Off(Case):
    """The configuration is good, and there is no key."""

    def start_daemon(self, **kw):
        ff = FarmDaemon(self.up.port, {"engine": "redis://127.0.0.1:1",
                                       "key_file": "/nowhere/the.key"}, **kw)
        self.addCleanup(ff.close)
        return ff.start()

    def test_off(self):
        farm = self.farm()
        self.assertEqual((farm["state"], farm["id"], farm["nodes"]),
                         ("off", None, []))
        self.assertIn("/nowhere/the.key", farm["error"])
        self.assertEqual(farm["share"], ["data", "listings", "trees"])
        self.assertIsNone(self.json("status")["servers"][0]["farm"])
        for args in ("status",), ("farm", "status"):
            code, out, _ = self.run_it(*args)
            self.assertEqual(code, 0)
            self.assertIn("farm: off", out)
            self.assertIn("/nowhere/the.key", out)
        (state, fact), = self.doctor()
        self.assertEqual(state, "warn")
        self.assertIn("/nowhere/the.key", fact)
        code, _, err = self.run_it("farm", "check")
        self.assertEqual(code, 1)
        self.assertIn(NO_FARM, err)

    def test_check_warns(self):
        """Mounts go on as ever: it is no failure."""
        daemon.poll(lambda: self.run_it("status", "--check")[0] == 0, "up")
        code, out, _ = self.run_it("status", "--check")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("warning: the farm is off: "), out)
        self.assertEqual(out.count("\n"), 1)
        got = self.json("status", "--check")
        self.assertEqual((got["ok"], got["problems"]), (True, []))
        warning, = got["warnings"]
        self.assertEqual(warning["state"], "off")
        self.assertIn("/nowhere/the.key", warning["reason"])


@unittest.skipUnless(shutil.which("redis-server") and shutil.which("redis-cli"),
                     "no redis-server")
class Engine(Case):
    settings = {"prefetch": "off"}

    def start_daemon(self, **kw):
        self.web = fakeserver.free_port()
        ff = FarmDaemon(self.up.port, {}, daemon={
            "metrics_listen": "127.0.0.1:%d" % self.web}, **kw)
        self.addCleanup(ff.close)
        self.redis = os.path.join(ff.run, "redis")
        key = os.path.join(ff.run, "key")
        ff.farm = {"engine": "redis+unix://" + self.redis, "key_file": key,
                   "share": "data", "publish_cap": "80Mbit"}
        ff.write_config()
        self.start_redis()
        made = subprocess.run([daemon.binary("forefetch"), "farm", "key", key],
                              env=daemon.environment(), timeout=daemon.BOUND,
                              stdout=subprocess.PIPE, text=True)
        self.assertEqual(made.returncode, 0)
        return ff.start()

    def start_redis(self):
        self.server = Redis(self.redis)
        self.addCleanup(self.server.close)

    def until(self, state):
        return daemon.poll(
            lambda: self.farm()["state"] == state and self.farm(), state, 30)

    def get(self, path):
        url = "http://127.0.0.1:%d/%s" % (self.web, path)
        with urllib.request.urlopen(url, timeout=daemon.BOUND) as r:
            return r.read().decode()

    def measured(self, line):
        """Waits for a line: Prometheus is told figures as old as they may
        be."""
        daemon.poll(lambda: re.search("(?m)^%s$" % line, self.get("metrics")),
                    line)

    def test_status(self):
        farm = self.until("up")
        self.assertRegex(farm["id"], r"\A[\w-]{6}\Z")
        self.assertIsNone(farm["error"])
        self.assertRegex(farm["version"], r"\A\d+\.")
        self.assertEqual(farm["share"], ["data"])
        self.assertEqual(farm["publish_cap_bytes_per_second"], 10000000)
        node, = farm["nodes"]
        self.assertEqual((node["name"], node["state"]), (self.redis, "up"))
        self.assertLess(0, farm["srtt_us"])
        srv = self.json("status")["servers"][0]
        self.assertEqual(set(srv["farm"].values()), {0})
        name = "farm %s: up, " % farm["id"]
        self.assertIn("\n" + name, self.run_it("status")[1])
        self.assertIn("  farm         0 B", self.run_it("status")[1])
        code, out, _ = self.run_it("farm", "status")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith(name), out)
        for part in "80.0 Mbit/s", "shares       data;", self.redis, "\nnas\n":
            self.assertIn(part, out)
        got = self.json("farm", "status")
        self.assertEqual(got["farm"]["id"], farm["id"])
        self.assertEqual(got["servers"], [{"name": "nas", "farm": srv["farm"]}])
        self.assertEqual(self.doctor()[0][0], "ok")
        self.assertIn("farm up", self.run_it("top", "--once")[1])

    def test_web(self):
        self.until("up")
        page = json.loads(self.get("api/servers"))
        self.assertEqual(page["farm"]["state"], "up")
        self.assertEqual(page["servers"][0]["farm_bytes"], 0)
        self.measured("forefetch_farm_up 1")
        self.measured(r"forefetch_farm_round_trip_seconds 0\.\d+")
        self.server.kill()
        self.until("down")
        self.measured("forefetch_farm_up 0")

    def test_down(self):
        """It is a warning, and the daemon serves as ever."""
        self.until("up")
        daemon.poll(lambda: self.run_it("status", "--check")[0] == 0, "up")
        self.assertEqual(self.run_it("status", "--check"), (0, "", ""))
        self.server.kill()
        self.until("down")
        code, out, _ = self.run_it("status", "--check")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("warning: the farm is down: "), out)
        self.assertEqual(self.doctor()[0][0], "warn")
        code, out, _ = self.run_it("farm", "check")
        self.assertEqual(code, 1)
        self.assertIn("fail  engine: down", out)
        self.assertEqual(self.run_it("farm", "flush")[0], 1)
        self.bystander()

    def test_check(self):
        self.until("up")
        code, out, err = self.run_it("farm", "check")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("one was put, read back and removed", out)
        self.assertEqual(self.server.ask("DBSIZE"), "0")
        self.server.ask("SET", "session:1", "x")
        code, out, _ = self.run_it("farm", "check")
        self.assertEqual(code, 1)
        self.assertIn("1 of 1 keys that were looked at are no farm's", out)
        self.server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        got = self.json("farm", "check")
        self.assertEqual((got["ok"], got["trial"]), (False, "good"))
        self.assertEqual(got["nodes"][0]["foreign"], 1)
        fail, = [f for f in got["findings"] if f["state"] == "fail"]
        self.assertIn("noeviction", fail["fact"])
        self.assertIn("allkeys-lru", fail["remedy"])

    def test_flush(self):
        farm = self.until("up")
        self.server.ask("EVAL", "for i = 1, 1500 do redis.call('SET', ARGV[1] .. i, "
                 "'x') end", "0", "ff:%s:d:" % farm["id"])
        self.server.ask("SET", "session:1", "x")
        code, out, err = self.run_it("farm", "flush")
        self.assertEqual((code, out, err), (0, "1500 values removed\n", ""))
        self.assertEqual(self.server.ask("DBSIZE"), "1")
        self.assertEqual(self.json("farm", "flush"),
                         {"busy": False, "removed": 0, "error": None})


if __name__ == "__main__":
    daemon.main()
