# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of a campaign as a whole, with programs that stand for the long tests."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
from unittest import main, mock

import campaign
import children
import fakes
import parts
import parts_lab
import state

HERE = os.path.dirname(os.path.realpath(__file__))


def command():
    """The program `run`, as a module."""
    loader = importlib.machinery.SourceFileLoader("campaign_run", os.path.join(HERE, "run"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Slices(fakes.Case):
    def setUp(self):
        super().setUp()
        self.program("build/tests/sweep", fakes.SWEEP)
        self.program("build/tests/histories", fakes.HISTORIES)

    def bad(self, *numbers):
        self.write("build/tests/bad", " ".join(map(str, numbers)))

    def test_what_one_tried_the_next_one_does_not(self):
        self.campaign([parts.Histories()], 4)
        self.campaign([parts.Histories()], 1)
        self.assertEqual(self.state.part("histories")["memory"]["seeds"],
                         {"strict": 3001, "bounded": 1501, "frozen": 1501,
                          "offline": 1501})
        self.assertEqual(self.state.part("histories")["slices"], 5)
        self.assertEqual(self.state.part("histories")["tried"], 5 * 15000)

    def test_sweep_reaches_its_end(self):
        self.campaign([parts.Sweep()], 12)
        record = self.state.part("sweep")
        self.assertEqual((record["tried"], record["memory"]["rounds"]), (12 * 50, 1))

    def test_time_goes_by_weights(self):
        light, heavy = parts.Sweep(), parts.Histories()
        light.weight = 1
        one = campaign.Campaign(self.env(), self.claimed(), [light, heavy], 3600, {},
                                self.said.append, children.Stop())
        self.state.part("sweep")["last"] = "2026-01-02 03:04"
        self.assertIs(one.choose()[0], heavy)
        one.spent.update(sweep=10, histories=20)
        self.assertIs(one.choose()[0], heavy)
        one.spent.update(sweep=10, histories=40)
        self.assertIs(one.choose()[0], light)

    def test_finding_is_tried_again_until_it_is_mended(self):
        self.bad(7)
        self.campaign([parts.Sweep()], 1, "v1")
        self.has_said("sweep FAILED: strict, error 7: a part of read")
        finding, = self.state.open_findings()
        self.assertIn("LOOKUP said EIO", self.text(finding["log"]))
        self.again([parts.Sweep()], "v2")
        self.has_said("still fails")
        # Its number may have moved.
        self.bad(9)
        self.again([parts.Sweep()], "v3")
        self.has_said("still fails")
        self.bad()
        self.again([parts.Sweep()], "v4")
        self.has_said("is mended")
        finding, = self.state.data["findings"]
        self.assertEqual([finding[k]["commit"] for k in ("since", "last", "mended")],
                         ["v1", "v3", "v4"])

    def test_finding_that_the_state_says_too_little_of(self):
        self.claimed().found("sweep", parts.Found("a", "said", "cmd"), "v1")
        self.state.save()
        self.state.release()
        self.again([parts.Sweep()], "v2")
        self.has_said("cannot be tried again")
        self.assertEqual(len(self.state.open_findings()), 1)

    def test_again_has_its_share_of_the_time_and_no_more(self):
        fifo = os.path.join(self.top, "never")
        os.mkfifo(fifo)
        self.program("build/tests/sweep", "open(%r)" % fifo)
        self.claimed()
        for n in (1, 2, 3):
            self.state.found("sweep", parts.Found(
                "strict, error %d" % n, "said", "cmd", mode="strict", kind="error",
                first=n, last=n), "v1")
        slow, unknown, brief = self.state.data["findings"]
        slow.update(took=1800, last={"commit": "v1", "at": "2026-01-02 03:04"})
        brief.update(last={"commit": "v1", "at": "2026-01-02 03:05"})
        unknown.update(last=slow["last"], tried="2026-01-02 03:06")
        self.state.save()
        self.state.release()
        with mock.patch("campaign.AGAIN_SHARE", 0.0003):
            self.again([parts.Sweep()], "v2")
        self.has_said("error 1 is not tried again: it needs about 30 min")
        self.has_said("error 3 could not be tried again: the time was over")
        self.has_said("what else failed is not tried again for want of time")
        slow, unknown, brief = self.state.data["findings"]
        self.assertNotIn("tried", slow)
        self.assertEqual(unknown["tried"], "2026-01-02 03:06")
        self.assertGreater(brief["tried"], "2026-01-02 03:06")
        self.assertIn(brief["took"], range(2, 60))
        self.assertEqual(state.why_damaged(self.state.data), "")

    def test_a_daemon_that_fails_everywhere(self):
        self.bad(*range(1, 20000))
        self.campaign([parts.Histories()], 6)
        self.assertEqual(len(self.state.open_findings()), campaign.OPEN_MAX)
        self.assertEqual(self.state.part("histories")["tried"], 6 * 15000)

    def test_part_without_any_outcome_is_left_alone(self):
        self.program("build/tests/sweep", "import sys; sys.exit('no memory')")
        self.campaign([parts.Sweep(), parts.Histories()], 8)
        self.has_said("sweep is left alone, after 3 runs")
        self.assertEqual(self.state.part("sweep")["note"], "no outcome: status 1: no memory")
        self.assertGreater(self.state.part("histories")["slices"], 3)

    def test_tests_that_cannot_run_do_not_stop_those_that_can(self):
        self.program("tests/e2e/run", """\
import sys
if sys.argv[1] == "--help":
    print("tests:\\n  a  x\\n  b  x\\n  c  x\\n  d  x")
else:
    print("1 ok, 0 failed" if sys.argv[1] == "d" else "SKIP: needs a disk")
""")
        self.campaign([parts_lab.EndToEnd()], 7)
        record = self.state.part("e2e")
        self.assertEqual((record["tried"], record["note"]), (4, ""))
        self.assertEqual(record["memory"]["runs"], {"a": 1, "b": 1, "c": 1, "d": 4})

    def test_part_that_cannot_run_at_all(self):
        self.program("tests/e2e/run", "print('SKIP: dmsetup is missing')")
        self.campaign([parts_lab.Powercut(), parts.Histories()], 20)
        self.assertEqual(sum(self.state.part("powercut")["memory"]["runs"].values()), 6)
        self.assertEqual(self.state.part("powercut")["note"], "skipped: dmsetup is missing")
        self.assertEqual(self.state.part("histories")["slices"], 14)

    def test_program_that_vanishes(self):
        os.remove(os.path.join(self.top, "build/tests/sweep"))
        self.campaign([parts.Sweep()], 1)
        self.assertIn("No such file", self.state.part("sweep")["note"])

    def test_too_little_time_for_a_part(self):
        self.campaign([parts.Sweep(), parts_lab.Flood()], 0, seconds=5)
        self.assertIn("60 s at a time", self.state.part("flood")["note"])

    def test_input_is_made_shorter(self):
        self.program("check/tests/fuzz_a", """\
import os, sys
arg = dict(a.split("=") for a in sys.argv[1:] if "=" in a)
if "-minimize_crash" in arg:
    open(arg["-exact_artifact_path"], "w").write("x")
    sys.exit(0)
path = arg["-artifact_prefix"] + "crash-%d" % os.getpid()
open(path, "w").write("xxx")
sys.exit("ERROR: libFuzzer: deadly signal\\nTest unit written to " + path)
""")
        self.campaign([parts.Fuzz()], 2)
        finding, = self.state.open_findings()
        self.assertEqual(finding["times"], 2)
        # Of a second input for the same failure nothing is kept.
        self.assertEqual(len(os.listdir(self.folder + "/findings")), 3)
        self.assertEqual(self.text(finding["data"]["input"]), "xxx")
        self.assertEqual(self.text(finding["again"].split()[1]), "x")


class Hangs(fakes.Case):
    def test_a_program_that_hangs_is_ended(self):
        os.mkfifo(os.path.join(self.top, "never"))
        path = self.program("hang", "print('half', flush=True)\nopen(%r)"
                            % os.path.join(self.top, "never"))
        one, = children.run([[path]], 0.2, float("inf"), children.Stop(), self.top + "/log")
        self.assertTrue(one.cut and one.hung)
        self.assertEqual(parts.trouble_of(one), "it hung")
        self.assertFalse(one.stopped)
        stop = children.Stop()
        stop.asked = True
        one, = children.run([[path]], 60, float("inf"), stop, self.top + "/log")
        self.assertTrue(one.cut and one.stopped and not one.hung)

    def test_what_it_has_started_comes_to_its_end_too(self):
        left = os.path.join(self.top, "left")
        os.mkfifo(left)
        path = self.program("parent", """\
import os, signal
if os.fork() == 0:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    with open(%r, "w") as f:
        f.write("ready")
    signal.sigwait([signal.SIGTERM])
    os.remove(%r)
else:
    signal.pause()
""" % (left, left))
        child = children.Child([path], self.top + "/log")
        with open(left, encoding="ascii") as f:
            f.read()
        child.end()
        self.assertFalse(os.path.exists(left))


class CommandLine(fakes.Case):
    def setUp(self):
        super().setUp()
        self.command = command()
        self.command.ROOT = self.top
        self.out, self.err = io.StringIO(), io.StringIO()

    def run_it(self, *words):
        with contextlib.redirect_stdout(self.out), contextlib.redirect_stderr(self.err), \
                mock.patch.dict(os.environ, {"XDG_STATE_HOME": self.top}):
            return self.command.main(list(words))

    def test_usage(self):
        for words, said in ((("--for", "20"), "units"), (("--for", "m"), "units"),
                            ((), "for how long"), (("--for", "3h", "--jobs", "0"), "jobs"),
                            (("--for", "1m", "--parts", "sweep,x"), "unknown part: x"),
                            (("--fro", "1m"), "--fro"), (("--for",), "argument")):
            self.assertEqual(self.run_it(*words), 2)
            self.assertIn(said, self.err.getvalue())
        self.assertFalse(os.path.exists(self.top + "/forefetch"))

    def test_times(self):
        self.assertEqual([self.command.time_of(t) for t in ("90s", "20m", "1h30m", "2d")],
                         [90, 1200, 5400, 172800])

    def test_commit_of_a_build(self):
        self.write("source/a.c", "")
        self.write("build/CMakeCache.txt",
                   "CMAKE_HOME_DIRECTORY:INTERNAL=%s/source\n" % self.top)
        program = self.program("build/tests/fuzz_a", "")
        self.assertEqual(self.command.commit_of(self.top + "/build"), "unknown")

        def git(*args):
            return subprocess.check_output(
                ["git", "-C", self.top + "/source", "-c", "user.name=n", "-c",
                 "user.email=e", "-c", "commit.gpgsign=no", *args], text=True).strip()
        git("init", "-q")
        git("add", "a.c")
        git("commit", "-q", "-m", "a")
        commit = git("rev-parse", "--short", "HEAD")
        made = int(git("log", "-1", "--format=%ct"))
        for age, said in ((-5, commit), (0, commit), (5, commit + " or before")):
            os.utime(program, (made - age, made - age))
            self.assertEqual(self.command.commit_of(self.top + "/build"), said)
        self.write("source/a.c", "int a;")
        self.assertEqual(self.command.commit_of(self.top + "/build"),
                         commit + "-dirty or before")

    def test_status_is_that_of_the_chosen_parts(self):
        self.claimed().part("sweep")
        self.state.part("flood")["note"] = "no outcome: status 2"
        self.state.found("fuzz", parts.Found("a", "said", "cmd"), "v1")
        self.state.save()
        for names, status in (("sweep", 0), ("flood", 1), ("sweep,fuzz", 1), ("", 1)):
            self.assertEqual(self.run_it("--table", "--parts", names, "--dir",
                                         self.folder), status)

    def test_no_build(self):
        self.assertEqual(self.run_it("--for", "1m", "--parts", "sweep,fuzz"), 2)
        self.assertIn("sweep is skipped", self.err.getvalue())
        self.assertIn("-DFF_FUZZ=ON", self.err.getvalue())
        self.assertIn("no part can run", self.err.getvalue())

    def test_no_room_after_a_while(self):
        self.program("build/tests/sweep", fakes.SWEEP)
        full = OSError(28, "No space left on device")
        with mock.patch("os.fsync", side_effect=[None, full]):
            self.assertEqual(self.run_it("--for", "1m", "--parts", "sweep", "--dir",
                                         self.folder, "--build", self.top + "/build"), 2)
        self.assertIn("No space left", self.err.getvalue())
        self.assertIn("sweep", self.out.getvalue())
        self.assertNotIn("state.json.new", os.listdir(self.folder))

    def test_table(self):
        self.claimed().part("sweep").update(tried=1234, last="2026-01-02 03:04")
        self.state.found("sweep", parts.Found("strict, error 7", "said", "cmd"), "v1")
        self.state.part("flood")["note"] = "skipped: no build"
        self.state.save()
        self.assertEqual(self.run_it("--table", "--dir", self.folder), 1)
        for text in ("1,234 points", "v1 (", "2026-01-02 03:04", "never",
                     "flood: skipped: no build", "again    cmd"):
            self.assertIn(text, self.out.getvalue())
        self.state.mend(self.state.data["findings"][0], "v2")
        self.state.save()
        self.assertEqual(self.run_it("--table", "--dir", self.folder), 0)
        self.assertIn("mended   v2", self.out.getvalue())

    def test_json(self):
        self.claimed().part("sweep")
        self.state.save()
        self.assertEqual(self.run_it("--table", "--json", "--dir", self.folder), 0)
        self.assertEqual(json.loads(self.out.getvalue())["parts"][0]["part"], "sweep")

    def test_damaged_state(self):
        path = self.write("campaign/state.json", "{")
        self.assertEqual(self.run_it("--for", "1m", "--dir", self.folder), 2)
        self.assertIn("move it away", self.err.getvalue())
        self.assertEqual(self.text(path), "{")


class Signals(fakes.Case):
    def interrupted(self, number):
        """`run` with a sweep that says its pid and then never ends."""
        fifo = os.path.join(self.top, "fifo")
        os.mkfifo(fifo)
        self.program("build/tests/sweep", """\
import os, signal
with open(%r, "w") as f:
    f.write(str(os.getpid()))
signal.pause()
""" % fifo)
        one = subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, "run"), "--for", "1h", "--parts",
             "sweep", "--dir", self.folder, "--build", os.path.join(self.top, "build")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with open(fifo, encoding="ascii") as f:
            pid = int(f.read())
        one.send_signal(number)
        out, err = one.communicate(timeout=60)
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        self.assertIn("interrupted; the same command goes on", err)
        self.assertIn("0 points", out)
        self.assertEqual(one.returncode, 0)
        os.remove(fifo)
        self.assertEqual(state.State(self.folder).part("sweep")["slices"], 0)

    def test_in_good_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.interrupted(number)


if __name__ == "__main__":
    main()
