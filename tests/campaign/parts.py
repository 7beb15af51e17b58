# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a campaign that need no lab: sweep, histories, fuzz.

A part has a name, a weight in the division of the time, and a unit of what it tries.
  missing(env)            why it cannot run, and what to do; nothing if it can
  build(env)              the build that its programs are of
  plan(env, memory, seconds, left)
                          a Plan of about so many seconds, or None where none fits into
                          what is left; `memory` is the part's own, in the state
  shortest(env, memory)   seconds that are the least for it
  read(plan, results, memory)
                          an Outcome; moves the memory on, but not where a result is cut
  again(env, finding)     a Plan that shows whether it still fails
  needs(finding, memory)  seconds that this takes, or 0 where nobody knows
  still(finding, outcome) whether it does
  shorter(env, finding)   a Plan that makes the input of a finding shorter, or None
"""
import glob
import json
import os
import re
import shlex

# No more of one slice: a daemon that is broken fails everywhere.
FINDINGS_MAX = 20


class Env:
    """Where things are."""

    def __init__(self, root, build, check_build, kernel, jobs, folder):
        self.root, self.build, self.check_build = root, build, check_build
        self.kernel, self.jobs, self.folder = kernel, jobs, folder

    def missing(self, build, name, option):
        path = os.path.join(build, name)
        if os.access(path, os.X_OK):
            return ""
        return "%s is not there: build it, or name another build with %s" % (path, option)


class Plan:
    """Programs that run at once. `limit`: seconds after which they hang; `again`: what
    a person types."""

    def __init__(self, label, commands, limit, again="", **data):
        self.label, self.commands, self.limit, self.data = label, commands, limit, data
        self.again = again or words(commands[0])


class Found:
    """`key` is the same each time that it is met; `data` is for again()."""

    def __init__(self, key, said, again, **data):
        self.key, self.said, self.again, self.data = key, said.strip()[:300], again, data


class Outcome:
    """`trouble`: why nothing can be said of it, which is no finding; `skip`: why this
    machine cannot run it."""

    def __init__(self, tried=0, found=(), trouble="", skip=""):
        self.tried, self.found = tried, list(found)[:FINDINGS_MAX]
        self.trouble, self.skip = trouble, skip


def words(command):
    return " ".join(shlex.quote(word) for word in command)


def trouble_of(result):
    """A program that did not end as it should, and said nothing of a failure."""
    if result.cut:
        return "it hung" if result.hung else ""
    return "status %d: %s" % (result.status, result.last_line())


class Part:
    name = unit = ""
    weight = 1

    def build(self, env):
        return env.build

    def shortest(self, _env, _memory):
        return 0

    def needs(self, _finding, _memory):
        return 0

    def still(self, _finding, outcome):
        return bool(outcome.found)

    def shorter(self, _env, _finding):
        return None


# ---- every call fails once --------------------------------------------------

MODES = ("strict", "bounded", "frozen")


class Sweep(Part):
    """In slices of each mode and kind. The next slice is of those where the fewest
    points were tried."""
    name, unit, weight = "sweep", "points", 3
    kinds = ("error", "short", "disk", "memory")
    # Numbers of points move when the code changes.
    around = 25

    def missing(self, env):
        return env.missing(env.build, "tests/sweep", "--build")

    def command(self, env, mode, kind, first, last):
        return [os.path.join(env.build, "tests/sweep"), "--mode", mode, "--kind", kind,
                "--from", str(first), "--to", str(last), "--jobs", str(env.jobs)]

    def plan(self, env, memory, seconds, _left):
        following = memory.setdefault("next", {})
        done = memory.setdefault("done", [])
        pairs = [(m, k) for k in self.kinds for m in MODES if m + " " + k not in done]
        mode, kind = min(pairs, key=lambda p: following.get(" ".join(p), 1))
        first = following.get(mode + " " + kind, 1)
        return self.slice(env, mode, kind, first,
                          first + max(10, int(seconds * memory.get("rate", 2))) - 1)

    def slice(self, env, mode, kind, first, last):
        command = self.command(env, mode, kind, first, last)
        return Plan("%s, %s, %d to %d" % (mode, kind, first, last), [command],
                    600 + 60 * (last - first), mode=mode, kind=kind, first=first, last=last)

    def read(self, plan, results, memory):
        result, d = results[0], plan.data
        found = self.points(plan, result.out)
        counts = re.search(r"points of failure +(\d+) \((\d+) not", result.out)
        if result.cut or not counts:
            return Outcome(0, found, trouble_of(result))
        tried = int(counts.group(1))
        if result.status and not found:
            found = [Found("%s, %s" % (d["mode"], d["kind"]), result.last_line(),
                           plan.again, first=d["first"], last=d["last"],
                           mode=d["mode"], kind=d["kind"])]
        reached = tried + int(counts.group(2))
        self.move_on(memory, d, result, reached)
        return Outcome(tried, found)

    def points(self, plan, out):
        d = plan.data
        lines = re.findall(r"^%s, %s (\d+): (.*)\n(?:  (?!fault:|crash:)(.*)\n)?"
                           % (d["mode"], d["kind"]), out, re.M)
        base = plan.commands[0][:5]
        return [Found("%s, %s %s" % (d["mode"], d["kind"], n),
                      ": ".join(s for s in (at, said) if s),
                      words(base + ["--one", n]), mode=d["mode"], kind=d["kind"],
                      first=max(1, int(n) - self.around), last=int(n) + self.around)
                for n, at, said in lines]

    def move_on(self, memory, d, result, reached):
        pair = d["mode"] + " " + d["kind"]
        wanted = d["last"] - d["first"] + 1
        if reached and result.seconds > 1:
            memory["rate"] = reached / result.seconds
        memory.setdefault("next", {})[pair] = d["last"] + 1
        done = memory.setdefault("done", [])
        if reached < wanted and (result.status == 0 or reached):
            done.append(pair)
            if len(done) == len(MODES) * len(self.kinds):
                memory.update(next={}, done=[], rounds=memory.get("rounds", 0) + 1)

    def again(self, env, finding):
        d = finding["data"]
        return self.slice(env, d["mode"], d["kind"], d["first"], d["last"])


# ---- random histories -------------------------------------------------------

class Histories(Part):
    """The modes in turn, each with the seeds behind those that were played."""
    name, unit, weight = "histories", "operations", 3
    modes = (*MODES, "offline")
    options = ()
    least = 200  # operations

    def missing(self, env):
        return env.missing(env.build, "tests/histories", "--build")

    def slice(self, env, mode, seed, operations, jobs):
        command = [os.path.join(env.build, "tests/histories"), *self.options,
                   "--mode", mode, "--seed", str(seed), "--operations", str(operations),
                   "--jobs", str(jobs), "--json"]
        return Plan("%s, from seed %d, %d operations" % (mode, seed, operations),
                    [command], 900 + operations, mode=mode, seed=seed)

    def plan(self, env, memory, seconds, _left):
        mode = self.modes[memory.get("turn", 0) % len(self.modes)]
        seed = memory.setdefault("seeds", {}).get(mode, 1)
        operations = max(self.least, int(seconds * memory.get("rate", 50)))
        return self.slice(env, mode, seed, operations, env.jobs)

    def totals(self, out):
        """The JSON object, which stands on a line of its own."""
        for line in out.splitlines():
            if line.startswith("{"):
                try:
                    t = json.loads(line)
                    return {k: int(t[k]) for k in ("histories", "operations", "violations")}
                except (ValueError, KeyError, TypeError):
                    return None
        return None

    def read(self, plan, results, memory):
        result, mode = results[0], plan.data["mode"]
        lines = re.findall(r"^%s, seed (\d+)\b.*\n +(.*)" % mode, result.out, re.M)
        base = plan.commands[0][:3 + len(self.options)]
        found = [Found("%s, seed %s" % (mode, seed), said,
                       words(base + ["--one", seed]), mode=mode, seed=int(seed))
                 for seed, said in lines]
        totals = self.totals(result.out)
        if result.cut or not totals:
            return Outcome(0, found, trouble_of(result))
        if totals["violations"] and not found:
            found = [Found("%s, from seed %d" % (mode, plan.data["seed"]),
                           "%d violations" % totals["violations"], plan.again,
                           mode=mode, seed=plan.data["seed"])]
        memory["turn"] = memory.get("turn", 0) + 1
        memory.setdefault("seeds", {})[mode] = plan.data["seed"] + max(1, totals["histories"])
        if totals["operations"] and result.seconds > 1:
            memory["rate"] = totals["operations"] / result.seconds
        return Outcome(totals["operations"], found)

    def again(self, env, finding):
        return self.slice(env, finding["data"]["mode"], finding["data"]["seed"], 1, 1)

    def still(self, finding, outcome):
        """It may play the next seed as well, whose failure is another one."""
        return any(f.data["seed"] == finding["data"]["seed"] for f in outcome.found)


class FarmHistories(Histories):
    """The same with a farm between machines, of which a short run may have nothing."""
    name, options, least = "farm-histories", ("--farm",), 1000


# ---- fuzzers ----------------------------------------------------------------

# The more it says of the cause, the sooner.
SAID = ("Assertion ", "runtime error: ", "SUMMARY: ", "ERROR: ")


def said_by(text):
    for word in SAID:
        line = re.search(r"^.*?(%s.*)$" % word, text, re.M)
        if line:
            return re.sub(r"0x[0-9a-f]+|==\d+==", "", line.group(1))
    return ""


class Fuzz(Part):
    """As many fuzzers at once as there may be jobs, in turn. Each goes on from its corpus
    in the campaign's folder."""
    name, unit, weight = "fuzz", "inputs", 4
    # Of one input. A machine with other work is slow.
    input_s = 60
    # Else it would save each input of ten seconds, which is no failure.
    bounds = ["-rss_limit_mb=2048", "-timeout=%d" % input_s, "-report_slow_units=600"]

    def build(self, env):
        return env.check_build

    def programs(self, env):
        return [p for p in sorted(glob.glob(os.path.join(env.check_build, "tests/fuzz_*")))
                if os.path.isfile(p) and os.access(p, os.X_OK)]

    def missing(self, env):
        if self.programs(env):
            return ""
        return "%s has no tests/fuzz_*: build it with -DFF_FUZZ=ON and clang, or name " \
            "another build with --check-build" % env.check_build

    def command(self, env, program, seconds):
        name = os.path.basename(program)
        corpus = os.path.join(env.folder, "corpus", name)
        os.makedirs(corpus, exist_ok=True)
        seeds = os.path.join(env.root, "tests/fuzz/corpus", name.removeprefix("fuzz_"))
        return [program, "-max_total_time=%d" % seconds, *self.bounds,
                "-print_final_stats=1",
                "-artifact_prefix=%s/findings/%s-" % (env.folder, name), corpus,
                *([seeds] if os.path.isdir(seeds) else [])]

    def plan(self, env, memory, seconds, _left):
        programs = self.programs(env)
        turn = memory.get("turn", 0) % len(programs)
        some = (programs[turn:] + programs[:turn])[:env.jobs]
        commands = [self.command(env, p, max(5, int(seconds))) for p in some]
        return Plan(", ".join(os.path.basename(p) for p in some), commands,
                    600 + seconds, turn=turn + len(some))

    def read(self, plan, results, memory):
        tried, found, troubles = 0, [], []
        for command, result in zip(plan.commands, results):
            inputs = re.search(r"stat::number_of_executed_units: (\d+)", result.err)
            tried += int(inputs.group(1)) if inputs else 0
            one = self.failure(command, result)
            if one:
                found.append(one)
            elif result.cut or result.status:
                troubles.append(trouble_of(result))
        if not any(r.cut for r in results):
            memory["turn"] = plan.data.get("turn", 0)
        return Outcome(tried, found, "; ".join(t for t in troubles if t))

    def failure(self, command, result):
        """The input that it saved is what is tried again."""
        saved = [path for path in re.findall(r"Test unit written to (\S+)", result.err)
                 if "-slow-unit-" not in os.path.basename(path)]
        said = said_by(result.err)
        if not result.status or not saved and (not said or result.cut):
            return None
        said = said or "status %d" % result.status
        name = os.path.basename(command[0])
        path = saved[0] if saved else command[-1]
        return Found("%s, %s" % (name, said), said, words([command[0], path]),
                     program=name, input=path)

    def again(self, env, finding):
        program = os.path.join(env.check_build, "tests", finding["data"]["program"])
        return Plan("%s, a saved input" % finding["data"]["program"],
                    [[program, *self.bounds, "-artifact_prefix=%s/logs/" % env.folder,
                      finding["data"]["input"]]], 300)

    def shorter(self, env, finding):
        path = finding["data"]["input"]
        program = os.path.join(env.check_build, "tests", finding["data"]["program"])
        return Plan("%s, a shorter input" % finding["data"]["program"],
                    [[program, "-minimize_crash=1", "-max_total_time=30", *self.bounds,
                      "-exact_artifact_path=%s.short" % path, path]], 90)
