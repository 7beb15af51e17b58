#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the farm's table, from lines as guest.sh prints them."""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import table

HERE = os.path.dirname(os.path.realpath(__file__))


def line(row, arm, s, n=1, case="-", job="git", ok="yes", hit="-", cpu=1.0,
         size=1000000):
    return "run row=%s job=%s case=%s arm=%s n=%d us=%d status=0 ok=%s " \
        "hit=%s cpu=%d in=%d out=0 ein=5 eout=6" % (
            row, job, case, arm, n, s * 1e6, ok, hit, cpu * 1e6, size)


def made(rows, *lines, done=True, known="yes"):
    words = ["farm known=" + known, *lines] + ["done"] * done
    return table.make(table.parse(words), rows.split(","), "")


def shown(result):
    out = io.StringIO()
    table.show(result, out)
    return out.getvalue()


def one(result, **wanted):
    found = [f for f in result["rows"]
             if all(f[k] == v for k, v in wanted.items())]
    assert len(found) == 1, found
    return found[0]


class Rows(unittest.TestCase):
    def test_second_machine_is_compared_round_by_round(self):
        # A round that was slow for both says nothing of the ratio.
        result = made("a", line("a", "trained", 2), line("a", "second", 2.2),
                      line("a", "trained", 6, 2), line("a", "second", 6.6, 2),
                      line("a", "trained", 2, 3), line("a", "second", 8, 3),
                      line("a", "direct", 66))
        f = one(result, what=table.WHAT["second"])
        self.assertAlmostEqual(f["value"], 1.1)
        self.assertEqual((f["verdict"], f["n"], f["max"]), ("aim", 3, 4.0))
        f = one(result, what=table.WHAT["direct"])
        self.assertAlmostEqual(f["value"], 10)
        self.assertEqual(f["verdict"], "NOT met")
        self.assertEqual(len(result["missed"]), 1)
        self.assertIn("MISSED: a, git: direct", shown(result))

    def test_import_has_a_bar_of_its_own(self):
        result = made("a", *(line("a", arm, s, job="import") for arm, s in (
            ("direct", 24), ("trained", 2), ("second", 2))))
        self.assertEqual(result["missed"], [])

    def test_without_direct_runs_there_is_no_figure_of_them(self):
        result = made("a", line("a", "trained", 2), line("a", "second", 2))
        self.assertEqual(len(result["rows"]), 1)
        self.assertEqual(result["problems"], [])

    def test_bytes(self):
        lines = [line("b", "1", 9, case="turns", size=1000)]
        lines += [line("b", str(m), 3, case="turns", size=50)
                  for m in range(2, 9)]
        result = made("b", *lines, "many job=git case=once n=1 machines=8 "
                      "ok=8 cpu=1 in=1500 out=500 ein=1 eout=1")
        turns, once = result["rows"]
        self.assertAlmostEqual(turns["value"], 1.35)
        self.assertEqual(turns["verdict"], "met")
        self.assertEqual((once["value"], once["verdict"]), (2.0, "NOT met"))
        self.assertIn("8 machines", once["what"])

    def test_a_job_that_the_farm_does_not_know(self):
        result = made("c", line("c", "farm", 10.1), line("c", "alone", 10))
        self.assertEqual(result["rows"][0]["verdict"], "met")
        result = made("c", line("c", "farm", 10.3), line("c", "alone", 10))
        self.assertEqual(result["rows"][0]["verdict"], "NOT met")

    def test_faults(self):
        result = made(
            "d", line("d", "calibrate", 4, case="none"),
            line("d", "alone", 10, case="one"),
            line("d", "farm", 11, case="hung"),
            line("d", "farm", 5, case="killed", hit="no"),
            line("d", "alone", 20, case="cluster"),
            line("d", "farm", 20.5, case="cluster", hit="yes"))
        by = {f["what"]: f for f in result["rows"]}
        self.assertEqual(len(by), 3)
        hung = by["engine hung, to none"]
        self.assertEqual((hung["value"], hung["verdict"]), (1.1, "NOT met"))
        killed = by["engine killed midway, to none"]
        self.assertEqual(killed["value"], 0.5)
        self.assertIn("1 ended before the fault", killed["more"])
        # The cluster has runs without a farm of its own.
        self.assertAlmostEqual(by["a cluster's master killed midway, to none"]
                               ["value"], 1.025)

    def test_cpu(self):
        result = made("e", line("a", "second", 1, cpu=3), line(
            "a", "alone", 5, cpu=2), line("c", "farm", 5, cpu=2.2), line(
                "c", "alone", 5, cpu=2))
        take, publish = result["rows"]
        self.assertAlmostEqual(take["value"], 1.5)
        self.assertAlmostEqual(publish["value"], 1.1)
        self.assertIn("farm 3.00 s, without 2.00 s", take["more"])

    def test_keys(self):
        result = made("f", "keys what=count value=1000",
                      "keys what=small-value value=100",
                      "keys what=beside-value value=118.8",
                      "keys what=value-64K value=82142",
                      "keys what=kept-old value=0.25")
        self.assertEqual([f["value"] for f in result["rows"]],
                         [118.8, 82142, 0.25])
        self.assertEqual(result["problems"], [])
        self.assertTrue(made("f")["problems"])


class Problems(unittest.TestCase):
    def test_a_wrong_run_is_not_timed(self):
        result = made("a", line("a", "trained", 2), line(
            "a", "second", 1, ok="no"))
        self.assertEqual(result["rows"][0]["verdict"], "missing")
        self.assertTrue(any("WRONG" in p for p in result["problems"]))

    def test_machines_that_differ_at_once(self):
        result = made("b", line("b", "1", 1), "many job=git case=once n=1 "
                      "machines=8 ok=7 cpu=1 in=1 out=1 ein=1 eout=1")
        self.assertIn("b, git, at once: 1 of 8 machines WRONG",
                      result["problems"])

    def test_too_fast_for_the_work(self):
        result = made("a", line("a", "floor", 3), line("a", "trained", 4),
                      line("a", "second", 1))
        self.assertTrue(any("too fast" in p for p in result["problems"]))

    def test_an_early_end(self):
        self.assertIn("it ended before it was done",
                      made("f", done=False)["problems"])

    def test_a_build_without_farms_is_said(self):
        self.assertIn("no farms", shown(made("f", known="no")))


class Command(unittest.TestCase):
    def test_status_and_json(self):
        with tempfile.TemporaryDirectory() as where:
            lines = os.path.join(where, "lines")
            save = os.path.join(where, "out.json")
            with open(lines, "w") as f:
                f.write("\n".join(["farm known=yes", line("c", "farm", 2),
                                   line("c", "alone", 1), "done"]))
            status = subprocess.run(
                [sys.executable, os.path.join(HERE, "table.py"), "--rows", "c",
                 "--save", save, lines], stdout=subprocess.DEVNULL).returncode
            self.assertEqual(status, 1)
            with open(save) as f:
                result = json.load(f)
            self.assertEqual(result["rows"][0]["value"], 2.0)
            self.assertEqual(len(result["runs"]), 2)


if __name__ == "__main__":
    unittest.main()
