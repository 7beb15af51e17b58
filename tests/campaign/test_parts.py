# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the parts: what they run, and what they make of what it said."""
import json
import os
import unittest

import children
import fakes
import parts
import parts_lab


def result(out="", status=0, err="", seconds=2.0, cut=False, hung=False, stopped=False):
    return children.Result(status, out, err, seconds, cut, hung, stopped)


class Sweep(fakes.Case):
    part = parts.Sweep()

    def slice(self, memory, *results):
        plan = self.part.plan(self.env(), memory, 10, 100)
        return plan, self.part.read(plan, results, memory)

    def report(self, points):
        return "points of failure    %d (0 not reached any more)\n" % points

    def test_goes_on_behind_the_last_slice(self):
        memory = {}
        first, outcome = self.slice(memory, result(self.report(20)))
        self.assertEqual((first.data["mode"], first.data["first"], outcome.tried),
                         ("strict", 1, 20))
        # Ten points a second by now.
        for mode in ("bounded", "frozen"):
            plan, _ = self.slice(memory, result(self.report(100), seconds=10.0))
            self.assertEqual(plan.data["mode"], mode)
        memory["done"] = ["%s %s" % (m, k) for m in parts.MODES
                          for k in ("short", "disk", "memory")]
        second = self.part.plan(self.env(), memory, 10, 100)
        self.assertEqual((second.data["mode"], second.data["first"], second.data["last"]),
                         ("strict", 21, 120))

    def test_begins_anew_behind_the_last_point(self):
        memory = {}
        for _ in range(12):
            self.slice(memory, result(self.report(3)))
        self.assertEqual((memory["next"], memory["done"], memory["rounds"]), ({}, [], 1))

    def test_findings(self):
        out = "strict, error 7: EIO of write: wrong after 3 lines\n  READ said EIO\n" \
            "  fault: put (io.c:1)\nstrict, error 9: ENOMEM of malloc: crashed, " \
            "Aborted after 2 lines\n  crash: x (y.c:2)\n"
        _, outcome = self.slice({}, result(out + self.report(20), 1))
        self.assertEqual([f.key for f in outcome.found], ["strict, error 7", "strict, error 9"])
        self.assertIn("READ said EIO", outcome.found[0].said)
        self.assertNotIn("crash:", outcome.found[1].said)
        self.assertTrue(outcome.found[0].again.endswith("--kind error --one 7"))

    def test_failure_without_a_point(self):
        memory = {}
        _, outcome = self.slice(memory, result(self.report(0), 1, "sweep: it fails by itself"))
        self.assertEqual([f.said for f in outcome.found], ["sweep: it fails by itself"])
        self.assertNotIn("strict error", memory["done"])

    def test_cut_slice_is_tried_again_but_its_findings_stay(self):
        memory = {}
        out = "strict, error 7: EIO of write: wrong after 3 lines\n"
        _, outcome = self.slice(memory, result(out, -15, cut=True))
        self.assertEqual((outcome.tried, len(outcome.found), outcome.trouble), (0, 1, ""))
        self.assertEqual(self.part.plan(self.env(), memory, 10, 100).data["first"], 1)

    def test_program_that_does_not_run(self):
        _, outcome = self.slice({}, result("", 127, "sweep: No such file"))
        self.assertEqual(outcome.trouble, "status 127: sweep: No such file")


class Histories(fakes.Case):
    part = parts.Histories()

    def totals(self, violations=0, histories=5):
        return json.dumps({"mode": "strict", "histories": histories, "operations": 900,
                           "violations": violations, "faults": 2}) + "\n"

    def test_seeds_go_on_in_each_mode(self):
        memory = {}
        seen = []
        for _ in range(5):
            plan = self.part.plan(self.env(), memory, 10, 100)
            seen.append((plan.data["mode"], plan.data["seed"]))
            outcome = self.part.read(plan, [result(self.totals())], memory)
            self.assertEqual(outcome.tried, 900)
        self.assertEqual(seen, [("strict", 1), ("bounded", 1), ("frozen", 1),
                                ("offline", 1), ("strict", 6)])

    def test_findings(self):
        plan = self.part.plan(self.env(), {}, 10, 100)
        out = "strict, seed 3, after 9 events:\n  READ /a: old bytes\n"
        found = self.part.read(plan, [result(out + self.totals(1), 1)], {}).found
        self.assertEqual([(f.key, f.said) for f in found],
                         [("strict, seed 3", "READ /a: old bytes")])
        # The seed beside it is another failure.
        again = self.part.again(self.env(), {"data": found[0].data})
        other = self.part.read(again, [result(out.replace("seed 3", "seed 4") +
                                              self.totals(1), 1)], {})
        self.assertFalse(self.part.still({"data": found[0].data}, other))

    def test_with_a_farm(self):
        part = parts.FarmHistories()
        plan = part.plan(self.env(), {}, 1, 100)
        self.assertIn("--farm", plan.commands[0])
        self.assertIn("1000", plan.commands[0])
        out = "strict, seed 3, after 9 events:\n  READ /a: old bytes\n"
        found = part.read(plan, [result(out + self.totals(1), 1)], {}).found
        self.assertTrue(found[0].again.endswith("--farm --mode strict --one 3"), found[0].again)

    def test_unreadable(self):
        plan = self.part.plan(self.env(), {}, 10, 100)
        for out in ("", "{\n", '{"mode": "strict"}\n', '{"histories": []}'):
            outcome = self.part.read(plan, [result(out, 2, "histories: usage")], {})
            self.assertEqual(outcome.trouble, "status 2: histories: usage")


class Fuzz(fakes.Case):
    part = parts.Fuzz()
    stats = "stat::number_of_executed_units: 1234\n"

    def setUp(self):
        super().setUp()
        for name in ("fuzz_a", "fuzz_b", "fuzz_c"):
            self.program("check/tests/" + name, "")

    def test_takes_turns(self):
        memory, seen = {}, []
        for _ in range(3):
            plan = self.part.plan(self.env(jobs=2), memory, 20, 100)
            seen.append(plan.label)
            outcome = self.part.read(plan, [result(err=self.stats)] * 2, memory)
            self.assertEqual(outcome.tried, 2468)
        self.assertEqual(seen, ["fuzz_a, fuzz_b", "fuzz_c, fuzz_a", "fuzz_b, fuzz_c"])

    def test_corpus_is_kept_and_seeds_are_read(self):
        os.makedirs(os.path.join(self.top, "tests/fuzz/corpus/a"))
        command = self.part.plan(self.env(), {}, 20, 100).commands[0]
        self.assertEqual(command[-2:], [self.folder + "/corpus/fuzz_a",
                                        self.top + "/tests/fuzz/corpus/a"])
        self.assertTrue(os.path.isdir(command[-2]))

    def test_findings(self):
        plan = self.part.plan(self.env(), {}, 20, 100)
        err = "==%d==ERROR: AddressSanitizer: heap-buffer-overflow on 0x6%d\n" \
            "SUMMARY: AddressSanitizer: heap-buffer-overflow a.c:7 in put\n" \
            "Test unit written to /f/crash-%d\n" + self.stats
        one, other = (self.part.read(plan, [result(err=err % (n, n, n), status=77)], {})
                      for n in (1, 2))
        self.assertEqual((one.tried, one.found[0].data["input"]), (1234, "/f/crash-1"))
        self.assertTrue(one.found[0].said.endswith("a.c:7 in put"))
        # The same failure, by another input at another address.
        self.assertEqual(one.found[0].key, other.found[0].key)

    def test_a_slow_input_is_no_failure(self):
        plan = self.part.plan(self.env(), {}, 20, 100)
        slow = "Test unit written to /f/fuzz_a-slow-unit-1\n"
        outcome = self.part.read(plan, [result(err=slow + self.stats)], {})
        self.assertEqual((outcome.tried, outcome.found, outcome.trouble), (1234, [], ""))
        # One that came before a crash is not the input of the crash.
        err = slow + "ERROR: libFuzzer: deadly signal\nTest unit written to /f/crash-2\n"
        found, = self.part.read(plan, [result(err=err, status=77)], {}).found
        self.assertEqual(found.data["input"], "/f/crash-2")
        for plan in (plan, self.part.again(self.env(), {"data": found.data}),
                     self.part.shorter(self.env(), {"data": found.data})):
            self.assertIn("-report_slow_units=600", plan.commands[0])

    def test_a_fuzzer_that_does_not_start(self):
        plan = self.part.plan(self.env(), {}, 20, 100)
        outcome = self.part.read(plan, [result(status=127, err="no libasan")], {})
        self.assertEqual((outcome.found, outcome.trouble), ([], "status 127: no libasan"))

    def test_missing(self):
        env = self.env()
        env.check_build = self.top + "/none"
        self.assertIn("-DFF_FUZZ=ON", self.part.missing(env))


class Powercut(fakes.Case):
    def setUp(self):
        super().setUp()
        self.part = parts_lab.Powercut()

    def judge(self, out, status=0, err=""):
        plan = self.part.plan(self.env(), {}, 60, 3600)
        return self.part.read(plan, [result(out, status, err)], {})

    def test_all_file_systems_and_then_the_next_seed(self):
        memory, seen = {}, []
        for _ in range(7):
            plan = self.part.plan(self.env(), memory, 60, 3600)
            seen.append((plan.data["fs"], plan.data["mode"], plan.data["seed"]))
            self.part.read(plan, [result("ok x, 9 s: 87 prefixes tried (8")], memory)
        self.assertEqual(len(set(seen)), 7)
        self.assertEqual(seen[6], ("ext4", "frozen", 2))

    def test_tried(self):
        out = "ok   ext4  frozen, seeds 1 to 1, 75 s: 70 prefixes tried (55\n" \
            "ok   ext4 data=writeback frozen, seeds 1 to 1, 31 s: 10 prefixes tried (10\n"
        self.assertEqual(self.judge(out).tried, 80)

    def test_findings(self):
        out = "FAIL ext4 , frozen, seed 1\n     FAIL prefix 12+3 of ext4: misread\n"
        self.assertEqual([f.said for f in self.judge(out, 1).found],
                         ["FAIL prefix 12+3 of ext4: misread"])
        self.assertIn("did not end", self.judge("", 124, "lab: watchdog").found[0].said)
        out = "FAIL ext4 , frozen, seed 1\n     FAIL seed 1, before any power cut: it hung\n"
        self.assertEqual([f.said for f in self.judge(out, 1).found],
                         ["FAIL seed 1, before any power cut: it hung"])

    def test_kept_recording_is_tried_again(self):
        out = "FAIL ext4 , frozen, seed 1\n     FAIL prefix 12+3 of ext4: misread\n" \
            "       again: tests/e2e/run powercut -- --one %s/kept 12+3\n" \
            "       again: tests/e2e/run powercut -- --one %s/kept 15\n" % (self.top, self.top)
        found, = self.judge(out, 1).found
        finding = {"data": found.data}
        self.assertEqual(self.part.again(self.env(), finding).commands[0][-6:],
                         ["--fs", "ext4", "--mode", "frozen", "250", "1"])
        self.assertEqual(self.part.needs(finding, {}), 120)
        anew = self.judge(out.replace("--one %s/kept 12+3" % self.top, "--one /new 77"), 1)
        other = {"data": dict(found.data)}
        self.assertTrue(self.part.still(other, anew))
        self.assertEqual([other["data"][k] for k in ("recording", "prefix", "seed")],
                         ["/new", "77", 1])
        self.write("kept/log", "")
        self.assertEqual(self.part.needs(finding, {}), 60)
        again = self.part.again(self.env(), finding)
        self.assertEqual(again.commands[0][-4:], ["--", "--one", self.top + "/kept", "12+3"])

        def judge(out, status):
            return self.part.read(again, [result(out, status)], {})
        outcome = judge("ok   prefix 12+3 of /kept\n1 prefixes tried (1 after\n", 0)
        self.assertEqual((outcome.tried, outcome.found, outcome.trouble), (1, [], ""))
        outcome = judge("FAIL prefix 12+3 of /kept (status 1)\n"
                        "     FAIL prefix 12+3 of ext4, frozen, seed 1:\n", 1)
        self.assertEqual([f.said for f in outcome.found],
                         ["FAIL prefix 12+3 of ext4, frozen, seed 1:"])
        # Where it is not even reached, it says nothing.
        outcome = judge("FAIL prefix 12+3 of /kept (status 1)\n     0 prefixes tried", 1)
        self.assertEqual((outcome.found, bool(outcome.trouble)), ([], True))

    def test_no_outcome(self):
        outcome = self.judge("", 125, "lab: the guest ended without a status")
        self.assertEqual((outcome.found, outcome.trouble),
                         ([], "status 125: lab: the guest ended without a status"))
        self.assertEqual(self.judge("SKIP: no dm-log-writes\n").skip, "no dm-log-writes")
        self.assertEqual(self.judge("# xfs is not there\n0 ok, 0 failed\n").trouble,
                         "no moment was tried")

    def test_only_what_fits_into_the_time(self):
        self.assertIsNone(self.part.plan(self.env(), {}, 60, 100))
        plan = self.part.plan(self.env(), {"lasted": {"xfs bounded": 20}}, 60, 100)
        self.assertEqual(plan.data["kind"], "xfs bounded")

    def test_a_run_that_was_cut_needs_more(self):
        memory = {}
        plan = self.part.plan(self.env(), memory, 60, 150)
        self.part.read(plan, [result(status=-15, seconds=180.0, cut=True)], memory)
        self.assertEqual((memory["lasted"], memory["runs"]), ({"ext4 frozen": 270}, {}))

    def test_a_short_beginning_does_not_say_how_long_it_takes(self):
        memory = {}
        plan = self.part.plan(self.env(), memory, 60, 150)
        self.part.read(plan, [result(status=-15, seconds=10.0, cut=True, stopped=True)],
                       memory)
        self.assertEqual((memory["lasted"], memory["runs"]), ({}, {}))
        self.part.read(plan, [result(status=-15, seconds=10.0, cut=True)], memory)
        self.assertEqual(memory["lasted"], {"ext4 frozen": 120})

    def test_missing(self):
        self.assertIn("--kernel", self.part.missing(self.env(kernel=self.top)))
        self.program("linux", "")
        self.assertIn("--build", self.part.missing(self.env(kernel=self.top)))


class Suites(fakes.Case):
    part = parts_lab.Suites()

    def judge(self, **changes):
        plan = self.part.plan(self.env(), {}, 60, 3600)
        counts = {"pass": 18, "fail": 1, "skip": 1}
        row = {"suite": "fsx", "server": "knfsd", "ended": True, "direct": counts,
               "proxy": counts, "differences": [], **changes}
        self.write("campaign/logs/suites.json", json.dumps([row]))
        return self.part.read(plan, [result()], {})

    def test_difference_is_tried_again_alone(self):
        different = {"test": "seed-3", "kind": "new", "direct": "pass a", "proxy": "pass b"}
        outcome = self.judge(differences=[different, {**different, "kind": "known"}])
        self.assertEqual((outcome.tried, [f.key for f in outcome.found]),
                         (20, ["fsx, knfsd: seed-3"]))
        again = self.part.again(self.env(), {"data": outcome.found[0].data})
        self.assertIn("--only seed-3 --save", again.again)
        self.assertEqual(self.part.needs({"data": outcome.found[0].data}, {}), 0)

    def test_no_end(self):
        found, = self.judge(ended=False).found
        self.assertIn("did not come to its end", found.said)
        kind = found.data["kind"]
        self.assertEqual(self.part.needs({"data": found.data}, {"lasted": {kind: 77}}), 77)
        self.assertEqual(self.part.needs({"data": found.data}, {}),
                         self.part.expected(kind))

    def test_no_results(self):
        plan = self.part.plan(self.env(), {}, 60, 3600)
        outcome = self.part.read(plan, [result(status=1, err="suites: fsx cannot be had")], {})
        self.assertEqual(outcome.trouble, "status 1: suites: fsx cannot be had")


class EndToEnd(fakes.Case):
    def setUp(self):
        super().setUp()
        self.part = parts_lab.EndToEnd()
        self.program("tests/e2e/run", "print('usage\\ntests:\\n  disk  a disk\\n"
                     "  powercut  the power\\n  unit  a unit')")

    def test_each_test_in_turn(self):
        memory, seen = {}, []
        for _ in range(3):
            plan = self.part.plan(self.env(kernel="/k"), memory, 60, 3600)
            seen.append(plan.data["test"])
            self.part.read(plan, [result()], memory)
        self.assertEqual(seen, ["disk", "unit", "disk"])
        self.assertEqual(plan.commands[0][:2], ["env", "LAB_KERNEL=/k"])

    def test_outcomes(self):
        plan = self.part.plan(self.env(), {}, 60, 3600)

        def judge(*args):
            return self.part.read(plan, [result(*args)], {})
        self.assertEqual(judge("ok a\nFAIL b: c\nFAIL d\n", 1).found[0].said, "FAIL b: c")
        self.assertEqual(judge("ok a\n", 124, "lab: watchdog").found[0].said, "lab: watchdog")
        self.assertEqual(judge("SKIP: needs root\n").skip, "disk: needs root")
        self.assertIn("status 125", judge("", 125, "lab: x").trouble)
        self.assertEqual(judge("0 ok, 0 failed\n", 0, "== disk.sh").trouble,
                         "disk tried nothing")
        self.assertEqual(judge("10 ok, 0 failed\n").trouble, "")


class Flood(fakes.Case):
    def test_outcomes(self):
        part = parts_lab.Flood()
        plan = part.plan(self.env(), {}, 60, 3600)

        def judge(*args):
            return part.read(plan, [result(*args)], {})
        self.assertEqual(judge('{"connections": 10}').tried, 10)
        self.assertIn("bound", judge('{"connections": 10}', 1).found[0].said)
        self.assertEqual(judge("", 1, "flood: not answered").found[0].said,
                         "flood: not answered")
        self.assertIn("status 2", judge("", 2, "flood: usage").trouble)


if __name__ == "__main__":
    unittest.main()
