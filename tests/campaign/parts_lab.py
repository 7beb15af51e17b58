# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a campaign that consist of runs of minutes: powercut, suites, e2e, flood."""
import json
import os
import re
import shutil
import subprocess

from parts import Found, Outcome, Part, Plan, trouble_of, words

# bench/lab/run: its watchdog, the lab itself; and usage, which is ours.
TIMED_OUT, NO_LAB, USAGE = 124, 125, 2


def first_failure(result):
    line = re.search(r"^ *(FAIL .*)$", result.out, re.M)
    return line.group(1) if line else result.last_line()


def skipped(result):
    line = re.search(r"^SKIP: (.*)$", result.out, re.M)
    return line.group(1) if line else ""


class Runs(Part):
    """Runs of several kinds, in turn; each takes about as long as it took before. Those
    that this machine cannot run are left alone, and the others go on."""
    expected_s = 600

    def __init__(self):
        self.skipped = set()

    def kinds(self, env):
        raise NotImplementedError

    def expected(self, kind):
        del kind
        return self.expected_s

    def plan(self, env, memory, _seconds, left):
        lasted = memory.setdefault("lasted", {})
        runs = memory.setdefault("runs", {})
        fit = [k for k in self.kinds(env)
               if k not in self.skipped and lasted.get(k, self.expected(k)) <= left]
        if not fit:
            return None
        kind = min(fit, key=lambda k: runs.get(k, 0))
        plan = self.one(env, kind, runs.get(kind, 0))
        plan.data["kind"] = kind
        return plan

    def shortest(self, env, memory):
        lasted = memory.get("lasted", {})
        return min(lasted.get(k, self.expected(k)) for k in self.kinds(env))

    def one(self, env, kind, number):
        raise NotImplementedError

    def read(self, plan, results, memory):
        result, kind = results[0], plan.data.get("kind")
        lasted, runs = (memory.setdefault(k, {}) for k in ("lasted", "runs"))
        if kind and result.cut and not result.stopped:
            # It needs more time than it was thought to.
            lasted[kind] = max(lasted.get(kind, self.expected(kind)),
                               int(1.5 * result.seconds))
        elif kind and not result.cut:
            lasted[kind] = int(result.seconds) + 1
        if kind and (result.hung or not result.cut):
            runs[kind] = runs.get(kind, 0) + 1
        if result.cut:
            return Outcome(trouble=trouble_of(result))
        outcome = self.judge(plan, result)
        if kind and outcome.skip:
            self.skipped.add(kind)
        for found in outcome.found:
            found.data["kind"] = kind
        return outcome

    def needs(self, finding, memory):
        """As long as the run that it was found by, if it is done again whole."""
        kind = finding["data"].get("kind")
        if not kind or finding["data"].get("only"):
            return 0
        return memory.get("lasted", {}).get(kind, self.expected(kind))

    def judge(self, plan, result):
        raise NotImplementedError


class Lab(Runs):
    def missing(self, env):
        if not env.kernel and not shutil.which("linux.uml"):
            return "linux.uml is not there: bench/install-packages lab, or name a " \
                "kernel with --kernel"
        if env.kernel and not os.access(os.path.join(env.kernel, "linux"), os.X_OK):
            return "%s/linux is not there: --kernel names the folder of another " \
                "User-Mode Linux" % env.kernel
        return env.missing(env.build, "proxy/forefetchd", "--build")

    def options(self, env):
        return ["--build", os.path.join(env.build, "proxy"),
                *(["--kernel", env.kernel] if env.kernel else [])]


class Powercut(Lab):
    name, unit, weight = "powercut", "moments", 3
    expected_s = 120
    # Of the moments that are asked for, each tries this share (powercut/test.sh).
    shares = {"ext4": 0.4, "btrfs": 0.1, "xfs": 0.05}
    moments = 100
    # For one of a recording.
    moment_s = 60

    def kinds(self, env):
        return [fs + " " + mode for fs in self.shares for mode in ("frozen", "bounded")]

    def one(self, env, kind, number):
        fs, mode = kind.split()
        # A job's log has far more moments, so the next seed is one that was not tried.
        moments = round(self.moments / self.shares[fs])
        return self.cut(env, ["--fs", fs, "--mode", mode, str(moments), str(number + 1)],
                        fs=fs, mode=mode, moments=moments, seed=number + 1)

    def cut(self, env, args, **data):
        command = [os.path.join(env.root, "tests/e2e/run"), "powercut", *self.options(env),
                   "--", *args]
        return Plan("%s, %s, seed %d" % (data["fs"], data["mode"], data["seed"]), [command],
                    7300, **data)

    def judge(self, plan, result):
        d, skip = plan.data, skipped(result)
        if skip:
            return Outcome(skip=skip)
        tried = sum(int(n) for n in re.findall(r"^(?:.* s: )?(\d+) prefixes tried",
                                               result.out, re.M))
        fails = re.findall(r"^ *(FAIL (?:prefix \S+ of (?!/)|seed ).*)$", result.out, re.M)
        if not fails and "recording" not in d:
            fails = re.findall(r"^(FAIL .*)$", result.out, re.M)
        if result.status == TIMED_OUT and not fails:
            fails = ["it did not end: " + result.last_line()]
        if result.status and not fails:
            return Outcome(tried, trouble=trouble_of(result))
        if not tried and not fails:
            return Outcome(trouble="no moment was tried")
        if not fails:
            return Outcome(tried)
        kept = re.search(r"^ *again: .* --one (/\S+) (\S+)$", result.out, re.M)
        data = {"recording": kept.group(1), "prefix": kept.group(2)} if kept else {}
        return Outcome(tried, [Found(
            "%s, %s, seed %d" % (d["fs"], d["mode"], d["seed"]), fails[0], plan.again,
            fs=d["fs"], mode=d["mode"], moments=d["moments"], seed=d["seed"], **data)])

    def again(self, env, finding):
        """A job is recorded anew, with other times, so its recording says more."""
        d = finding["data"]
        if self.is_kept(d):
            return self.cut(env, ["--one", d["recording"], d["prefix"]], **d)
        return self.cut(env, ["--fs", d["fs"], "--mode", d["mode"], str(d["moments"]),
                              str(d["seed"])], fs=d["fs"], mode=d["mode"],
                        moments=d["moments"], seed=d["seed"])

    def still(self, finding, outcome):
        """If it was recorded anew, then that recording is what there is now."""
        for found in outcome.found:
            finding["data"].update({key: found.data[key] for key in ("recording", "prefix")
                                    if key in found.data})
        return bool(outcome.found)

    @staticmethod
    def is_kept(data):
        return os.path.isfile(os.path.join(data.get("recording") or "/dev/null", "log"))

    def needs(self, finding, memory):
        return self.moment_s if self.is_kept(finding["data"]) else \
            super().needs(finding, memory)


class Suites(Lab):
    """Each suite at each server."""
    name, unit, weight = "suites", "tests", 3
    suites = ("fsx", "pjdfstest", "dbench", "fio", "sqlite", "stress-ng", "git")
    servers = ("knfsd", "ganesha")

    def kinds(self, env):
        return [suite + " " + server for suite in self.suites for server in self.servers]

    def expected(self, kind):
        return {"fsx": 200, "pjdfstest": 200, "git": 1800}.get(kind.split()[0],
                                                               self.expected_s)

    def one(self, env, kind, number):
        suite, server = kind.split()
        return self.suite(env, suite, server, [])

    def suite(self, env, suite, server, only):
        results = os.path.join(env.folder, "logs", "suites.json")
        command = [os.path.join(env.root, "tests/suites/run"), *self.options(env),
                   "--server", server, *[w for test in only for w in ("--only", test)],
                   "--save", results, suite]
        if os.path.exists(results):
            os.remove(results)
        return Plan("%s, %s" % (suite, server), [command], 4 * 3600, results=results)

    def judge(self, plan, result):
        try:
            with open(plan.data["results"], encoding="utf-8") as f:
                row = json.load(f)[0]
            tried = sum(row["proxy"][k] for k in ("pass", "fail", "skip"))
            return Outcome(tried, self.found(plan, row))
        except (OSError, ValueError, LookupError, TypeError):
            return Outcome(trouble=trouble_of(result))

    def found(self, plan, row):
        suite, server = row["suite"], row["server"]
        base = plan.commands[0]
        for d in row["differences"]:
            if d["kind"] == "new":
                yield Found("%s, %s: %s" % (suite, server, d["test"]),
                            "direct %s; proxy %s" % (d["direct"], d["proxy"]),
                            words([*base[:-3], "--only", d["test"], suite]),
                            suite=suite, server=server, only=[d["test"]])
        why = "it did not come to its end" if not row["ended"] else \
            "" if row["direct"]["pass"] else "nothing passes on the direct mount"
        if why:
            yield Found("%s, %s" % (suite, server), why, words([*base[:-3], suite]),
                        suite=suite, server=server, only=[])

    def again(self, env, finding):
        d = finding["data"]
        return self.suite(env, d["suite"], d["server"], d["only"])


class EndToEnd(Lab):
    """All of tests/e2e, whole; powercut is a part of its own."""
    name, unit, weight = "e2e", "tests", 2

    def kinds(self, env):
        listed = subprocess.run([os.path.join(env.root, "tests/e2e/run"), "--help"],
                                stdout=subprocess.PIPE, text=True, check=False).stdout
        names = re.findall(r"^  (\w+) ", listed.partition("tests:\n")[2], re.M)
        return [n for n in names if n != "powercut"] or ["posix"]

    def expected(self, kind):
        return {"setup": 1500, "package": 1500}.get(kind, self.expected_s)

    def one(self, env, kind, number):
        # Not all of them take --kernel.
        kernel = ["env", "LAB_KERNEL=" + env.kernel] if env.kernel else []
        command = [*kernel, os.path.join(env.root, "tests/e2e/run"), kind, "--build",
                   os.path.join(env.build, "proxy")]
        return Plan(kind, [command], 4 * 3600, test=kind)

    def judge(self, plan, result):
        test = plan.data["test"]
        if result.status in (USAGE, NO_LAB):
            return Outcome(trouble=trouble_of(result))
        if skipped(result):
            return Outcome(skip="%s: %s" % (test, skipped(result)))
        if not result.status and re.search(r"^0 ok, 0 failed$", result.out, re.M):
            return Outcome(trouble="%s tried nothing" % test)
        found = [Found(test, first_failure(result), plan.again, test=test)] \
            if result.status else []
        return Outcome(1, found)

    def again(self, env, finding):
        return self.one(env, finding["data"]["test"], 0)


class Flood(Runs):
    name, unit, weight = "flood", "connections", 1
    expected_s = 60

    def missing(self, env):
        return env.missing(env.build, "proxy/forefetchd", "--build")

    def kinds(self, env):
        return ["flood"]

    def one(self, env, kind, number):
        return Plan("10,000 connections", [[
            os.path.join(env.root, "bench/flood/run"), "--build", env.build, "--json"]], 900)

    def judge(self, plan, result):
        try:
            tried = int(json.loads(result.out)["connections"])
        except (ValueError, LookupError, TypeError):
            tried = 0
        if result.status == USAGE or (result.status != 1 and not tried):
            return Outcome(trouble=trouble_of(result))
        said = "more than the bound is held" if tried else result.last_line()
        found = [Found("flood", said, plan.again)] if result.status else []
        return Outcome(tried, found)

    def again(self, env, finding):
        return self.one(env, "flood", 0)
