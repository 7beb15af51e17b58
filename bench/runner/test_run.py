# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of bench/run: statistics, going on after an interruption, and the
report, from canned results with failures among them."""
import argparse
import json
import os
import re
import signal
import stat
import sys
import tempfile
import unittest
from unittest import mock
from xml.dom import minidom

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import cli
import document
import experiments
import figures
import others
import plots
import readme
import report
import runner
import seedrows


def made_run(job, arm, number, s, kind="timed", ok=True, **more):
    run = {"job": job, "arm": arm, "kind": kind, "number": number, "s": s,
           "ok": ok, "status": 0, "user_s": 0.1, "system_s": 0.1,
           "mount": "nfs:vers=3,nolock", "server_calls": {"READ": 10},
           "client_calls": {"READ": 10, "LOOKUP": 20},
           "client_ms": {"READ": 400, "LOOKUP": 800}, "wait_s": 1.2,
           "link_bytes_in": 1000, "server_cpu_s": 0.01}
    if arm in figures.OURS:
        run.update(counters={"data_misses": 1, "name_misses": 2,
                             "bytes_copied": 0, "bytes_returned": 4096},
                   ahead_before={"prefetch_used": 95 * number,
                                 "prefetch_unused": 5 * number,
                                 "prefetch_unused_bytes": 2048 * number},
                   daemon_cpu_s=0.02, daemon_rss_max_kib=20480)
    return dict(run, **more)


def record_of(cell="headline", experiment="headline", runs=(), outcome="ok",
              link="wan", kind="jobs", **more):
    result = {"runs": list(runs), "problems": [], "missing": {}}
    return dict({"id": cell, "experiment": experiment, "kind": kind,
                 "link": link, "group": cell, "seed": 1, "key": "k",
                 "command": "bench/jobs/run", "outcome": outcome, "reason": None,
                 "status": 0, "started": 1e9, "seconds": 12.0, "log": "",
                 "versions": {"commit": "abc", "forefetchd": "1",
                              "cpus": 2},
                 "load": 1.0,
                 "result": result}, **more)


def usual_runs(job="node", ours=2.0, direct=100.0):
    runs = [made_run(job, "floor", 0, 1.8, kind="ref"),
            made_run(job, "bounded", 1, 30.0, kind="train")]
    runs += [made_run(job, "floor", n, 1.8 + n / 100) for n in range(1, 6)]
    runs += [made_run(job, "bounded", n, ours + n / 100) for n in range(1, 6)]
    return runs + [made_run(job, "direct", 1, direct)]


class Statistics(unittest.TestCase):
    def test_interval_of_few_is_their_range(self):
        found = figures.interval([3, 1, 2, 5, 4])
        self.assertEqual((found["median"], found["low"], found["high"]),
                         (3, 1, 5))
        # 1 - 2 / 2^5
        self.assertAlmostEqual(found["confidence"], 0.9375)

    def test_interval_of_six_reaches_95(self):
        found = figures.interval(range(6))
        self.assertEqual((found["low"], found["high"]), (0, 5))
        self.assertAlmostEqual(found["confidence"], 1 - 2 / 64)

    def test_interval_of_twenty(self):
        # The table of the sign test: the 6th and the 15th, 95.86%.
        found = figures.interval(range(1, 21))
        self.assertEqual((found["low"], found["high"]), (6, 15))
        self.assertAlmostEqual(found["confidence"], 0.9586, places=4)

    def test_interval_of_one_and_none(self):
        self.assertEqual(figures.interval([7])["low"], 7)
        self.assertEqual(figures.interval([7])["confidence"], 0)
        self.assertIsNone(figures.interval([]))

    def test_an_outlier_does_not_move_it(self):
        found = figures.interval([1] * 19 + [1000])
        self.assertEqual((found["median"], found["high"]), (1, 1))


class Rows(unittest.TestCase):
    def test_ratios_and_misses(self):
        rows = figures.rows_of([record_of(runs=usual_runs())])
        ours = figures.one(rows, arm="bounded")
        self.assertAlmostEqual(ours["times_direct"], 2.03 / 100)
        self.assertAlmostEqual(ours["times_floor"], 2.03 / 1.83)
        self.assertEqual(ours["first_s"], 30.0)
        self.assertEqual((ours["data_misses"], ours["name_misses"]), (1, 2))
        self.assertEqual(figures.one(rows, arm="direct")["name_misses"], 20)
        self.assertAlmostEqual(ours["read_ms"], 40)
        self.assertAlmostEqual(ours["masked"], 1 - 1.83 / 99.8)

    def test_a_proxy_that_does_not_tell_has_no_misses(self):
        runs = usual_runs() + [made_run("node", "rclone", 1, 50.0),
                               made_run("node", "rclone", 1, 90.0,
                                        kind="train")]
        rows = figures.rows_of([record_of(runs=runs)])
        row = figures.one(rows, arm="rclone")
        self.assertEqual((row["calls"], row["data_misses"],
                          row["name_misses"]), (None, None, None))
        self.assertEqual((row["times_direct"], row["first_s"]), (0.5, 90.0))

    def test_a_wrong_run_is_not_timed(self):
        runs = usual_runs() + [made_run("node", "bounded", 6, 0.1, ok=False)]
        row = figures.one(figures.rows_of([record_of(runs=runs)]),
                          arm="bounded")
        self.assertEqual((row["wrong"], row["s"]["low"]), (1, 2.01))

    def test_what_a_peer_shows_wrong_is_a_result(self):
        for arm, is_good in (("rclone", True), ("bounded", False),
                             ("floor", False)):
            runs = usual_runs() + [made_run("node", arm, 6, 1.0, ok=False)]
            record = record_of(runs=runs)
            self.assertEqual(runner.good(record), is_good, arm)
            self.assertEqual(len(runner.wrong_runs(record)), 1)

    def test_a_run_that_is_too_fast_is_not_wrong(self):
        runs = usual_runs() + [made_run("node", "bounded", 6, 0.1, ok=False,
                                        too_fast=True)]
        record = record_of(runs=runs)
        row = figures.one(figures.rows_of([record]), arm="bounded")
        self.assertEqual((row["wrong"], row["too_fast"], row["s"]["n"]),
                         (0, 1, 5))
        self.assertTrue(runner.good(record))
        self.assertIn("an error of measurement",
                      figures.worse([], figures.rows_of([record]))[-1])

    def test_only_wrong_runs_have_no_time(self):
        runs = [made_run("node", "bounded", 1, 0.1, ok=False),
                made_run("node", "direct", 1, 9.0)]
        rows = figures.rows_of([record_of(runs=runs)])
        self.assertIsNone(figures.one(rows, arm="bounded")["s"])
        self.assertEqual(figures.headline(rows), [])
        self.assertIn("WRONG", figures.worse([], rows)[0])

    def test_what_was_fetched_in_vain_is_counted_over_all_runs(self):
        rows = figures.rows_of([record_of(runs=usual_runs())])
        ours = figures.one(rows, arm="bounded")
        self.assertEqual((ours["used_objects"], ours["unused_objects"],
                          ours["unused"]), (380, 20, 2048))
        accuracy = next(seedrows.lei_and_duchamp(rows, []))
        self.assertIn("95.0% of 400", accuracy["ours"])
        self.assertTrue(accuracy["met"])

    def test_what_is_worse_comes_worst_first(self):
        runs = usual_runs("slow", ours=120) + usual_runs("slower", ours=150)
        records = [record_of(runs=runs),
                   record_of("broken", outcome="failed", reason="status 124",
                             result=None)]
        found = figures.worse(records, figures.rows_of(records))
        self.assertEqual([f.split(" ")[0] for f in found],
                         ["broken", "slower", "slow"])

    def test_load_and_walks_may_be_worse(self):
        def load(target, rate):
            return {"connections": 10, "target": target, "ops_per_s": rate}

        records = [
            record_of("load-x", "load", kind="load", result=[
                load("direct", 60.0), load("direct", 40.0),
                load("again", 10.0), load("bounded", 50.0),
                load("frozen", 200.0)]),
            record_of("million", "million", kind="million", link="lan",
                      result={"files": 9, "direct_s": 1.0, "first_s": 3.0,
                              "again_s": 0.5})]
        found = figures.worse(records, [])
        self.assertEqual(len(found), 2)
        self.assertIn("3.00 ×", found[0])
        self.assertIn("0.50 ×", found[1])

    def test_headline_is_a_median_over_jobs(self):
        runs = usual_runs("a", ours=1.97) + usual_runs("b", ours=3.97)
        runs += usual_runs("c", ours=9.97)
        lines = figures.headline(figures.rows_of([record_of(runs=runs)]))
        self.assertEqual(figures.over_jobs(lines, "direct"), (25.0, 3))
        self.assertEqual(figures.over_jobs(lines, "fscache"), (None, 0))


class Seeds(unittest.TestCase):
    def test_every_row_is_there_though_nothing_ran(self):
        table = seedrows.table([], [])
        self.assertEqual({r["met"] for r in table}, {None})
        self.assertEqual(len({r["seed"] for r in table}), 5)
        for r in table:
            self.assertTrue(r["ours"].startswith("not run"), r)

    def test_met_and_not_met(self):
        for ours, met in ((10.0, True), (99.0, False)):
            runs = usual_runs("ld", ours=ours)
            for r in runs:
                if r["arm"] == "bounded":
                    r["client_ms"] = {"READ": 1}
            rows = figures.rows_of([record_of("k", "kroegerlong", runs)])
            found = [r for r in seedrows.table(rows, [])
                     if r["what"].startswith("GNU ld")]
            self.assertEqual(found[0]["met"], met, found)

    def test_cases_of_other_scripts(self):
        cases = {"backward-1": {"void": False, "direct_s": [10.0, 1],
                                "ours_s": [9.0, 1]},
                 "backward-2": {"void": True}}
        record = record_of("patterns", "patterns", kind="other",
                           result={"cases": cases})
        found = {r["what"]: r for r in seedrows.aasfp([record])}
        self.assertEqual(found["backward 1"]["met"], False)
        self.assertEqual(figures.worse([record], []), [])
        cases["backward-1"]["ours_s"] = [10.3, 1]
        self.assertIn("backward-1: 1.03 ×", figures.worse([record], [])[0])
        self.assertIsNone(found["backward 2"]["met"])

    def test_met_where_the_limit_allows_no_more(self):
        for ours, masked, met in ((8.1, .95, True), (8.3, .85, False)):
            record = record_of("patterns", "patterns", kind="other", result={
                "cases": {"backward-1": {"void": False, "least_s": 8.0,
                                         "direct_s": [10.0, 1],
                                         "ours_s": [ours, 1]}}})
            found = next(r for r in seedrows.aasfp([record])
                         if r["what"] == "backward 1")
            self.assertAlmostEqual(found["masked"], masked)
            self.assertEqual(found["met"], met)
        # Without a limit, or with one above what the direct mount takes.
        self.assertIsNone(seedrows.share(10.0, 9.0, None))
        self.assertIsNone(seedrows.share(10.0, 9.0, 11.0))
        self.assertIsNone(seedrows.least([0.9, None]))

    def test_forms_of_other_scripts(self):
        hints = {"cases": [{"case": "blocks", "plain": [9.0, 1], "void": 0,
                            "hints": [3.0, 1], "oracle": [2.0, 1]},
                           {"case": "bound", "void": 3}]}
        disk = {"delay_ms": 8, "before": {"s": {"mean": 4.0}, "reads": 9},
                "after": {"s": {"mean": 3.0}, "reads": 3}}
        sessions = {"gone": {"arms": {
            "without": {"total_s": {"median": 5.0}},
            "with": {"total_s": {"median": 4.0}}}}}
        copied = {"test": "hit-1m", "plain": {
            "us_per_mib": {"mean": 97.0}, "cpu_us_per_mib": {"mean": 98.0},
            "copies_per_byte": 0.0}, "copying": {
                "us_per_mib": {"mean": 99.0}, "cpu_us_per_mib": {"mean": 99}}}
        records = [record_of(n, n, kind="other", result=r) for n, r in (
            ("hints", hints), ("layout", {"disks": [disk], "compact": None}),
            ("sessions", {"cases": sessions}), ("copies", {"rows": [copied]}))]
        found = others.by_name(records)
        self.assertEqual(set(found), {"hints-blocks", "layout-8-s",
                                      "layout-8-reads", "sessions-gone",
                                      "copies-hit-1m-time",
                                      "copies-hit-1m-cpu"})
        rows = [r["met"] for make in (seedrows.ubuntu, seedrows.legion)
                for r in make([], records)]
        rows += [r["met"] for r in seedrows.aasfp(records)]
        self.assertEqual([met for met in rows if met is not None],
                         [True, True, True, True, True, False, True])
        # Another form than is known is no reason to fail.
        for bad in ([], {"cases": [{"case": "x", "hints": 1}]}, {}):
            record = record_of("hints", "hints", kind="other", result=bad)
            self.assertEqual(others.cases(record), [])


class Report(unittest.TestCase):
    def setUp(self):
        self.records = [
            record_of(runs=usual_runs("node") + usual_runs("git") +
                      [made_run("git", "bounded", 6, 0.1, ok=False)]),
            record_of("today-wan", "today", usual_runs("a & b")),
            record_of("harm", "harm", outcome="failed", kind="harm",
                      reason="status 124, no figures", result=None),
            record_of("hints", "hints", outcome="skipped", kind="other",
                      reason="bench/hints/run is not there", result=None,
                      command=None)]
        self.records[0]["result"]["missing"] = {
            "sshfs": "no <sshfs> here", "rclone": "it is not built"}

    def write(self):
        with tempfile.TemporaryDirectory() as where:
            for path in report.write(self.records, where, True):
                with open(path) as f:
                    yield os.path.basename(path), f.read()

    def test_the_report_says_what_is_wrong(self):
        texts = dict(self.write())
        for name in ("report.md", "report.html"):
            text = texts[name]
            for said in ("1 runs WRONG", "FAILED", "status 124",
                         "bench/hints/run is not there", "vers=3,nolock",
                         "kroegerlong: not run yet"):
                self.assertIn(said, re.sub("<[^>]*>", "", text), name)
            self.assertLess(text.index("What got worse"),
                            text.index("figures beside ours"))
        self.assertIn("a &amp; b", texts["report.html"])
        self.assertIn("no &lt;sshfs&gt; here", texts["report.html"])
        self.assertIn("rclone serve nfs is not available here: it is not built",
                      texts["report.md"])
        self.assertNotIn("http://localhost", texts["report.html"])

    def test_commands_are_shown_without_directories(self):
        self.assertEqual(report.shown(
            "bench/lab/run --build /home/a/b/build --env X=/home/a/b/nfsload "
            "--save /var/tmp/forefetch-run.1/out.json bench/soak/guest.sh"),
            "bench/lab/run --build build --env X=nfsload --save out.json "
            "bench/soak/guest.sh")

    def test_a_busy_machine_is_told(self):
        self.assertNotIn("Others used", dict(self.write())["report.md"])
        self.records[0]["load"] = 23.0
        self.assertIn("1 of 3 cells ended at a load average of up to 23",
                      dict(self.write())["report.md"])

    def test_the_page_needs_nothing_else(self):
        page = dict(self.write())["report.html"]
        self.assertNotRegex(page, r'(src|href)="(https?:|/)')
        self.assertNotIn("@import", page)

    def test_the_plot_is_an_svg(self):
        if plots.pyplot() is None:
            self.skipTest("no matplotlib")
        texts = dict(self.write())
        minidom.parseString(texts["report-headline.svg"])
        ids = re.findall(r'\bid="([^"]+)"', texts["report.html"])
        self.assertEqual(len(ids), len(set(ids)))

    def test_without_matplotlib(self):
        with mock.patch.object(plots, "pyplot", lambda: None):
            texts = dict(self.write())
        self.assertNotIn("report-headline.svg", texts)
        self.assertIn("| node loads webpack", texts["report.md"])
        self.assertIn("| node | floor", texts["report.md"])

    def test_markdown_cells(self):
        self.assertEqual(document.cell("a|b\nc"), "a\\|b c")


class Machines(unittest.TestCase):
    def test_bars_are_in_the_report(self):
        row = {"row": "c", "job": "git", "what": "x", "value": 1.5, "min": 1,
               "max": 2, "n": 3, "bar": 1.02, "aim": None, "least": False,
               "verdict": "NOT met", "more": "farm 3 s"}
        r = record_of("machines", "machines", kind="machines", result={
            "farm": False, "rows": [row], "missed": ["c, git: x"],
            "problems": ["b, git: WRONG"]})
        text = document.markdown("t", "u", report.build([r], True))
        for part in ("≤ 1.02", "1.00–2.00", "has no farms", "git: WRONG",
                     "machines, NOT met: c, git: x"):
            self.assertIn(part, text)


class FirstRuns(unittest.TestCase):
    def section(self, **more):
        spread = {"median": 2.0, "min": 1.5, "max": 3.0, "n": 3}
        row = {"job": "git", "wrong": 0, "direct_s": dict(
            spread, median=50.0, n=1), "least_s": 0.5, "first_s": spread,
            "faster": 25.0, "bar": 12, "allowed": True, "times_wire": 1.5,
            "cpu_s": 0.4, "misses": 20}
        result = {"link": "wan", "rows": [dict(row, **more)], "runs": [],
                  "after_rows": [], "missed": ["ld: × 2.00"]}
        record = record_of(runs=[])
        record.update(kind="first", experiment="first", result=result)
        return dict(report.section_first([record]))["First runs ever"], record

    def test_a_table(self):
        blocks, _ = self.section()
        cells = [b for b in blocks if b[0] == "table"][0][2][0]
        self.assertEqual(cells[:6], ["git", "50.0 (1 run)", "0.50",
                                     "2.00 (1.50–3.00)", "× 25", "× 12"])
        self.assertIn(("list", ["NOT met: ld: × 2.00"]), blocks)

    def test_what_failed_is_told(self):
        blocks, _ = self.section(wrong=2, first_s=None, faster=None,
                                 allowed=False)
        cells = [b for b in blocks if b[0] == "table"][0][2][0]
        self.assertIn("2 WRONG", cells[0])
        self.assertEqual(cells[3:6], ["–", "–", "–"])

    def test_after_another_job(self):
        _, record = self.section()
        spread = {"median": 2.0, "min": 1.5, "max": 3.0, "n": 3}
        record["result"]["after_rows"] = [
            {"job": "git", "after": "node", "empty_s": spread,
             "after_s": None, "ratio": None}]
        blocks = dict(report.section_first([record]))["First runs ever"]
        cells = [b for b in blocks if b[0] == "table"][0][2][0]
        self.assertEqual(cells, ["git", "node", "2.00 (1.50–3.00)", "–", "–"])


FAKE = """#!/bin/sh
echo "$@" >>"$0.called"
[ ! -e "$0.fails" ] || { echo "it broke" >&2; exit 3; }
echo '{"runs": [], "arguments": "'"$*"'"}'
"""


class Running(unittest.TestCase):
    def setUp(self):
        self.where = tempfile.TemporaryDirectory()
        self.addCleanup(self.where.cleanup)
        os.mkdir(os.path.join(self.where.name, "fake"))
        self.fake = os.path.join(self.where.name, "fake", "run")
        with open(self.fake, "w") as f:
            f.write(FAKE)
        os.chmod(self.fake, 0o755)
        os.makedirs(os.path.join(self.where.name, "build", "proxy"))
        self.daemon = os.path.join(self.where.name, "build/proxy/forefetchd")
        with open(self.daemon, "w") as f:
            f.write("1")
        os.chmod(self.daemon, stat.S_IRWXU)
        self.results = os.path.join(self.where.name, "results")
        self.said = []

    def cells(self, names=("a", "b")):
        found = []
        for name in names:
            cell = experiments.Cell(name, "other", "-", [
                os.path.dirname(self.fake), name, experiments.SEED], 1, save=False)
            cell.experiment = "headline"
            found.append(cell)
        return found

    def run_all(self, cells=None, **more):
        args = argparse.Namespace(
            seed=1, build=os.path.join(self.where.name, "build"), again=False,
            fresh=False, verbose=False, no_fetch=True)
        vars(args).update(more)
        return runner.run_all(cells or self.cells(), self.results, args,
                              self.said.append)

    def called(self):
        try:
            with open(self.fake + ".called") as f:
                return f.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def test_all_are_run_and_kept(self):
        self.assertTrue(self.run_all())
        self.assertEqual(self.called(), ["a 1", "b 1"])
        records = runner.load(self.results)
        self.assertEqual([r["id"] for r in records], ["a", "b"])
        self.assertEqual(records[0]["result"]["arguments"], "a 1")
        for key in ("versions", "link", "seed", "command", "outcome"):
            self.assertIn(key, records[0])

    def test_it_goes_on(self):
        self.run_all(self.cells(["a"]))
        self.run_all()
        self.assertEqual(self.called(), ["a 1", "b 1"])
        self.assertTrue(any("1 of 2" in s for s in self.said), self.said)

    def test_another_daemon_or_seed_is_another_result(self):
        self.run_all(self.cells(["a"]))
        self.run_all(self.cells(["a"]), seed=2)
        with open(self.daemon, "w") as f:
            f.write("2")
        self.run_all(self.cells(["a"]), seed=2)
        self.assertEqual(self.called(), ["a 1", "a 2", "a 2"])

    def test_failures_are_results(self):
        open(self.fake + ".fails", "w").close()
        self.assertFalse(self.run_all())
        record = runner.load(self.results)[0]
        self.assertEqual((record["outcome"], record["status"]), ("failed", 3))
        self.assertIn("it broke", record["log"])
        os.unlink(self.fake + ".fails")
        self.run_all()
        self.assertEqual(len(self.called()), 2)
        self.assertTrue(self.run_all(again=True))
        self.assertEqual(len(self.called()), 4)

    def test_an_interrupted_cell_ends_with_all_that_it_began(self):
        with open(self.fake, "w") as f:
            # The second process is one that outlives a signal to the first.
            f.write("#!/bin/sh\nsleep 1000 & echo $$ $! >&2; wait\n")
        said = []

        def tell(line):
            said.extend(map(int, line.split()))
            os.kill(os.getpid(), signal.SIGUSR1)

        # SIGINT itself may be ignored where tests are run.
        before = signal.signal(signal.SIGUSR1, cli.on_signal)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with self.assertRaises(KeyboardInterrupt):
            runner.execute([self.fake], self.where.name, tell)
        # stderr was read to its end: nobody has it open any more.
        self.assertEqual(len(said), 2)
        with self.assertRaises(ProcessLookupError):
            os.kill(said[0], 0)
        self.assertEqual(runner.load(self.results), [])

    def prepared(self, no_fetch):
        """How often rclone was built, for a cell that wants it."""
        os.mkdir(os.path.join(self.where.name, "jobs"))
        built = os.path.join(self.where.name, "jobs", "build-rclone")
        os.rename(self.fake, built)
        self.fake = built
        open(self.fake + ".fails", "w").close()
        cell = experiments.jobs("x", "wan", ["login"], 1, sets=(),
                                peers="nfs4,rclone")
        with mock.patch.object(runner, "BENCH", self.where.name), \
                mock.patch.object(runner.shutil, "which"), \
                mock.patch.object(runner, "fetch_others"):
            runner.prepare([cell], argparse.Namespace(no_fetch=no_fetch),
                           self.said.append)
        return len(self.called())

    def test_without_rclone_it_goes_on(self):
        self.assertEqual(self.prepared(no_fetch=False), 1)
        self.assertEqual(self.said, ["continuing without rclone"])

    def test_nothing_is_built_if_nothing_may_be_fetched(self):
        self.assertEqual(self.prepared(no_fetch=True), 0)
        self.assertEqual(self.said, [])

    def test_a_damaged_record_is_done_again(self):
        self.run_all(self.cells(["a"]))
        with open(runner.path_of(self.results, "a"), "w") as f:
            f.write('{"id": "a"')
        self.run_all(self.cells(["a"]))
        self.assertEqual(len(self.called()), 2)

    def test_a_script_that_is_not_there_is_skipped(self):
        cell = experiments.Cell("x", "other", "-", ["no-such-script"], 1,
                                save=False, needs=["script"])
        cell.experiment = "hints"
        self.assertTrue(self.run_all([cell]))
        self.assertEqual(runner.load(self.results)[0]["outcome"], "skipped")

    def test_what_was_missing_is_looked_for_again(self):
        cells = self.cells(["a"])
        cells[0].needs = ["tex"]
        with mock.patch.object(runner, "have_tex", return_value=False):
            self.assertTrue(self.run_all(cells))
        record = runner.load(self.results)[0]
        self.assertEqual(record["outcome"], "skipped")
        self.assertIn("install-packages tex", record["reason"])
        self.assertEqual(self.called(), [])
        with mock.patch.object(runner, "have_tex", return_value=True):
            self.assertTrue(self.run_all(cells))
            self.assertTrue(self.run_all(cells))
        self.assertEqual(self.called(), ["a 1"])

    def test_trees_of_what_is_skipped_are_not_wanted(self):
        cells = self.cells(["a"])
        cells[0].needs, cells[0].sets = ["tex"], ["tex"]
        for name, value in (("image_of", None), ("have_tex", False)):
            patch = mock.patch.object(runner, name, return_value=value)
            patch.start()
            self.addCleanup(patch.stop)
        with mock.patch.object(runner.shutil, "which", return_value="/x"):
            self.assertTrue(self.run_all(cells))
            runner.have_tex.return_value = True
            with self.assertRaisesRegex(runner.Missing, "--set tex"):
                self.run_all(cells)

    def test_time_left_follows_the_machine(self):
        cells = self.cells(["a", "b", "c"])
        progress = runner.Progress(cells, self.said.append, False)
        self.assertEqual(progress.left_minutes(), 3)
        progress.end(cells[0], {"outcome": "ok", "reason": None,
                                "seconds": 120, "result": {}})
        self.assertEqual(progress.left_minutes(), 4)


class Readme(unittest.TestCase):
    """README's figures are those of the report that is kept beside it."""

    def test_it_has_the_figures_of_the_report(self):
        old, new = readme.texts()
        self.assertEqual(old, new, "bench/run readme puts them right")

    def test_figures_are_filled_in(self):
        with open(readme.REPORT) as f:
            report_text = f.read()
        blocks = "".join("<!-- figures %s -->\nold\n<!-- end -->\n" % name
                         for name in readme.MAKE)
        made = readme.fill("above\n" + blocks + "below\n", report_text)
        self.assertNotIn("old", made)
        self.assertTrue(made.startswith("above\n"))
        self.assertTrue(made.endswith("below\n"))
        self.assertEqual(readme.fill(made, report_text), made)

    def test_what_is_missing_is_said(self):
        with self.assertRaisesRegex(readme.Wrong, "no block"):
            readme.fill("nothing\n", "")
        with self.assertRaisesRegex(readme.Wrong, "does not have"):
            readme.jobs("")
        with self.assertRaisesRegex(readme.Wrong, "other columns"):
            readme.jobs("## In one table\n| job | NFSv3 |\n\n## Next\n")
        with open(readme.REPORT) as f:
            cut = f.read().replace("|\n\n![", "|\n| node | 1 |\n\n![", 1)
        with self.assertRaisesRegex(readme.Wrong, "other columns"):
            readme.jobs(cut)
        with self.assertRaisesRegex(readme.Wrong, "other columns"):
            readme.others("## NFSv4.2, FS-Cache, sshfs\n\n| job |\n\n## Next\n")


class CommandLine(unittest.TestCase):
    def test_experiments(self):
        for quick in (True, False):
            cells = [c for e in experiments.ALL for c in e.cells(quick)]
            names = [c.id for c in cells]
            self.assertEqual(len(names), len(set(names)))
            for c in cells:
                self.assertTrue(c.link == "-" or c.link in experiments.LINKS)
        quick = [c for e in experiments.ALL for c in e.cells(True)]
        self.assertLessEqual(sum(c.minutes for c in quick
                                 if c.kind != "other"), 60)
        self.assertFalse(any("tex" in c.sets for c in quick))

    def test_unknown_names_are_refused(self):
        with mock.patch("sys.stderr"):
            self.assertEqual(cli.main(["nonsense", "--no-fetch"]), 2)

    def test_reports_from_what_is_there(self):
        with tempfile.TemporaryDirectory() as where, mock.patch("sys.stderr"):
            self.assertEqual(cli.main(["report", "--results", where]), 1)
            runner.save(runner.path_of(where, "headline"),
                        record_of(runs=usual_runs()))
            self.assertEqual(cli.main(["report", "--results", where]), 0)
            self.assertTrue(os.path.exists(os.path.join(where,
                                                        "report.html")))
            with open(runner.path_of(where, "headline")) as f:
                self.assertEqual(json.load(f)["id"], "headline")


if __name__ == "__main__":
    unittest.main()
