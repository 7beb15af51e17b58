#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the table of first runs, from results as bench/jobs/run saves them."""
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

import table

HERE = os.path.dirname(os.path.realpath(__file__))


def run_of(arm, s, number=1, ok=True, kind="timed", size=1000000):
    return {"job": "x", "arm": arm, "kind": kind, "number": number, "s": s,
            "ok": ok, "link_bytes_in": size, "daemon_cpu_s": 0.5,
            "misses": 10}


def result_of(first, direct=(50.0,), floor=(0.5,), more=(), problems=()):
    runs = [run_of("floor", 0.4, kind="ref")]
    runs += [run_of("floor", s, n) for n, s in enumerate(floor)]
    runs += [run_of("direct", s, n) for n, s in enumerate(direct)]
    runs += [run_of("bounded", s, n, size=1500000)
             for n, s in enumerate(first)]
    return {"date": "2026-01-01", "runs": runs + list(more),
            "problems": list(problems), "jobs": []}


def merged(job, *args, link="wan", after=None, beside=None, **more):
    return table.merge({job: result_of(*args, **more)}, link, "bounded", after,
                       beside)


def shown(result):
    out = io.StringIO()
    table.show(result, out)
    return out.getvalue()


class Bars(unittest.TestCase):
    def test_a_row(self):
        row = merged("git", [4.0, 5.0, 3.0])["rows"][0]
        self.assertEqual(row["first_s"], {"median": 4.0, "min": 3.0,
                                          "max": 5.0, "n": 3})
        self.assertEqual(row["faster"], 12.5)
        self.assertEqual((row["bar"], row["aim"]), (12, 20))
        self.assertEqual(row["times_wire"], 1.5)
        self.assertAlmostEqual(row["worst_best"], 5 / 3)
        self.assertEqual(row["cpu_s"], 0.5)
        self.assertEqual(table.verdict(row), "met")

    def test_aim_and_missed(self):
        self.assertEqual(table.verdict(merged("git", [2.5])["rows"][0]), "aim")
        result = merged("git", [10.0])
        self.assertEqual(table.verdict(result["rows"][0]), "NOT met")
        self.assertEqual(result["missed"],
                         ["git: × 5.00, the bar is × 12.00"])
        self.assertIn("MISSED: git", shown(result))

    def test_grep_must_be_steady(self):
        steady = merged("grep", [2.0, 2.5, 2.9])
        self.assertEqual(steady["missed"], [])
        wild = merged("grep", [2.0, 2.0, 3.2])
        self.assertEqual(len(wild["missed"]), 1)
        self.assertIn("1.60 of the best", wild["missed"][0])
        self.assertEqual(merged("git", [2.0, 2.0, 3.9])["missed"], [])

    def test_a_bar_that_nothing_could_reach_does_not_count(self):
        result = merged("ld", [20.0], floor=[10.0])
        row = result["rows"][0]
        self.assertFalse(row["allowed"])
        self.assertEqual(result["missed"], [])
        self.assertEqual(table.bar_cell(row), "(6)")
        self.assertEqual(table.verdict(row), "")

    def test_bytes_alone_may_be_the_least(self):
        made = result_of([20.0], floor=[1.0])
        for r in made["runs"]:
            if r["arm"] == "direct":
                r["link_bytes_in"] = 50e6        # 20 s at 20 Mb/s
        row = table.merge({"ld": made}, "wan", "bounded")["rows"][0]
        self.assertEqual(row["least_s"], 20.0)
        self.assertFalse(row["allowed"])

    def test_on_other_links_no_job_is_slower_than_direct(self):
        self.assertEqual(merged("git", [50.5], link="lan")["missed"], [])
        self.assertEqual(len(merged("git", [52.0], link="lan")["missed"]), 1)

    def test_a_job_without_a_bar_is_not_slower_than_direct_either(self):
        self.assertEqual(merged("mkdocs", [40.0])["missed"], [])
        self.assertIn("slower", merged("mkdocs", [60.0])["missed"][0])

    def test_bytes_in_vain(self):
        result = result_of([2.0])
        for size, link, missed in ((2.1e6, "wan", 1), (1.9e6, "wan", 0),
                                   (1.9e6, "wireless", 1),
                                   (1.4e6, "wireless", 0)):
            for r in result["runs"]:
                if r["arm"] == "bounded":
                    r["link_bytes_in"] = size
            got = table.merge({"git": result}, link, "bounded")["missed"]
            self.assertEqual(len(got), missed, (size, link, got))


class Missing(unittest.TestCase):
    def test_wrong_runs_are_not_timed(self):
        result = merged("git", [4.0], more=[
            run_of("bounded", 0.1, 2, ok=False)])
        self.assertEqual(result["rows"][0]["first_s"]["n"], 1)
        self.assertIn("WRONG", result["missed"][0])
        self.assertIn("1!", shown(result))

    def test_no_runs_at_all(self):
        result = table.merge({"git": {"runs": [], "jobs": [], "problems": [
            "it broke"]}}, "wan", "bounded")
        self.assertEqual(result["problems"], ["it broke"])
        self.assertEqual(result["missed"], ["git: there is no first run"])
        self.assertIn("git", shown(result))

    def test_no_direct_run(self):
        result = merged("git", [4.0], direct=[])
        self.assertIsNone(result["rows"][0]["faster"])
        self.assertEqual(result["missed"], [])
        shown(result)

    def test_direct_runs_of_another_table(self):
        old = merged("git", [12.0])
        result = merged("git", [2.0], direct=[], beside=old)
        row = result["rows"][0]
        self.assertEqual(row["before_s"]["median"], 12.0)
        self.assertEqual(row["faster"], 25.0)
        self.assertEqual(row["times_wire"], 1.5)
        self.assertIn("before", shown(result))
        self.assertIsNone(merged("ld", [2.0], beside=old)["rows"][0]
                          ["before_s"])

    def test_references_are_not_kept(self):
        self.assertNotIn("ref", {r["kind"] for r in
                                 merged("git", [4.0])["runs"]})


class After(unittest.TestCase):
    def made(self, empty, taught):
        return merged("git", empty, after="node", more=[
            run_of("bounded+node", s, n) for n, s in enumerate(taught)])

    def test_no_harm(self):
        result = self.made([4.0, 5.0, 4.0], [4.0, 4.9, 3.0])
        self.assertAlmostEqual(result["after_rows"][0]["ratio"], 0.98)
        self.assertEqual(result["missed"], [])
        self.assertIn("after/empty", shown(result))

    def test_harm(self):
        result = self.made([4.0, 4.0, 4.0], [6.0, 6.0, 6.0])
        self.assertEqual(result["missed"], [
            "git: 1.50 of the time of an empty cache after node"])

    def test_less_than_the_runs_differ_anyway_is_no_harm(self):
        self.assertEqual(self.made([4.0, 4.0, 4.8],
                                   [4.4, 4.4, 4.8])["missed"], [])

    def test_no_pair(self):
        self.assertIn("no pair", self.made([4.0], [])["missed"][0])


class Second(unittest.TestCase):
    def made(self, again, ok=True):
        runs = []
        for arm in ("frozen", "bounded"):
            runs += [dict(run_of(arm, 30.0, kind="train"),
                          upstream_read_bytes=3000000),
                     dict(run_of(arm, 3.0, ok=ok), upstream_read_bytes=again)]
        return table.merge_second({"node": {"runs": runs, "problems": []}},
                                  "wan")

    def test_what_is_fetched_again(self):
        result = self.made(30000)
        self.assertEqual(result["missed"], [])
        self.assertIn("1.0%", shown(result))
        self.assertEqual(len(self.made(90000)["missed"]), 2)
        self.assertIn("3.0% of the data again", self.made(90000)["missed"][0])
        self.assertIn("0.0%", shown(self.made(0)))

    def test_wrong_or_missing(self):
        result = self.made(0, ok=False)
        self.assertEqual(len(result["missed"]), 4)
        self.assertIn("-", shown(result))


FAKE = """#!/bin/sh
echo "$@" >>"$0.called"
while [ $# -gt 0 ]; do
	[ "$1" != --save ] || save=$2
	[ "$2" != grep ] || exit 3
	shift
done
cp "$0.json" "$save"
"""


class CommandLine(unittest.TestCase):
    """The command, with a bench/jobs/run that gives canned results."""

    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.where = where.name
        os.makedirs(self.where + "/first")
        os.makedirs(self.where + "/jobs")
        for name in ("run", "table.py"):
            with open(os.path.join(HERE, name)) as f:
                self.put("first/" + name, f.read())
        self.put("jobs/run", FAKE)
        self.put("jobs/run.json", json.dumps(result_of([2.0])))

    def put(self, name, text):
        path = os.path.join(self.where, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, stat.S_IRWXU)

    def run_it(self, *args):
        made = subprocess.run([sys.executable, self.where + "/first/run",
                               *args], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        return made.returncode, made.stdout, made.stderr

    def called(self):
        with open(self.where + "/jobs/run.called") as f:
            return f.read().split("\n")[:-1]

    def test_a_call_for_each_job(self):
        save = self.where + "/all.json"
        status, out, _ = self.run_it("--jobs", "git,login", "--save", save)
        self.assertEqual(status, 0, out)
        self.assertEqual(len(self.called()), 2)
        self.assertIn("--jobs git --link wan", self.called()[0])
        self.assertIn("--arms bounded --restart first -n 3 --direct 1",
                      self.called()[0])
        with open(save) as f:
            self.assertEqual([r["job"] for r in json.load(f)["rows"]],
                             ["git", "login"])

    def test_a_job_that_fails_does_not_end_the_others(self):
        status, out, err = self.run_it("--jobs", "grep,git", "--json")
        self.assertEqual(status, 1)
        self.assertIn("grep: bench/jobs/run ended with status 3", err)
        self.assertEqual(json.loads(out)["rows"][1]["faster"], 25.0)
        self.assertIn("-n 5 --direct 1", self.called()[0])

    def test_wireless_is_without_loss(self):
        self.run_it("--jobs", "git", "--link", "wireless", "--direct", "0")
        self.assertIn("--loss -", self.called()[0])
        self.assertIn("--direct 0", self.called()[0])

    def test_after_another_job(self):
        status, _, err = self.run_it("--jobs", "git", "--after", "node",
                                     "--gone", "--train", "2")
        self.assertEqual(status, 1)
        self.assertIn("--after node --train 2 --between rm -rf",
                      self.called()[0])

    def test_the_second_run(self):
        self.assertEqual(self.run_it("--jobs", "git", "--second")[0], 1)
        self.assertIn("--arms frozen:consistency=frozen:prefetch=off,bounded:",
                      self.called()[0])

    def test_usage(self):
        for args in (["--second", "--after", "node"],
                     ["--sets", "none"], ["--gone"], ["-n", "-1"],
                     ["--beside", self.where + "/no"], ["--nonsense"],
                     ["--save", self.where + "/no/x.json"]):
            self.assertEqual(self.run_it(*args)[0], 2, args)
        self.assertEqual(self.run_it("--help")[0], 0)


if __name__ == "__main__":
    unittest.main()
