#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of bench/sessions/run, and its report.

make DIR: a home directory: what a login shell reads, small configuration
files, and a repository for each of three groups.

report ROWS RTT RATE THINK JSON SAVE: ROWS is what guest.sh prints (its head
has the format).  Exit status 1 where the aim is missed, a session went wrong,
or figures are missing.
"""
import json
import math
import os
import random
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "lab"))
from interval import t95  # noqa: E402

GROUPS = 3
RC_FILES, COMMON_FILES, GROUP_FILES, REPO_FILES = 30, 24, 24, 120

PROFILE = """PATH=$HOME/bin:$HOME/.local/bin:$PATH
. ~/.bashrc
"""
BASHRC = """for f in ~/.config/bash/*.sh; do . "$f"; done
[ ! -f ~/.bash_aliases ] || . ~/.bash_aliases
"""
# Somebody's desktop, or the person, looks at these after a login.
TASKS = """ls -a ~
cat ~/.config/common/*/*.conf | head -c 2000
ls ~/Documents
cat ~/.config/group$1/*/*.conf | head -c 2000
cd ~/src/repo$1 && git -c safe.directory='*' -c advice.statusUoption=false status
today
"""
TODAY = """#!/bin/bash
head -qn 1 ~/Documents/*.txt
"""


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def words(seed, size):
    chance = random.Random(seed)
    return "".join(chance.choices("abcdefghij \n", k=size))


def confs(top, files, seed):
    for i in range(files):
        put("%s/app%02d/%s.conf" % (top, i // 3, "abc"[i % 3]),
            words(seed + i, 500 + 300 * (i % 9)))


def repo(top, seed):
    for i in range(REPO_FILES):
        put("%s/part%d/file%03d.c" % (top, i // 20, i),
            words(seed + i, 1000 + 100 * (i % 50)))
    git = ["git", "-C", top, "-c", "user.name=user",
           "-c", "user.email=user@example.org"]
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", HOME=top,
               GIT_AUTHOR_DATE="2024-12-01 12:00:00 +0000",
               GIT_COMMITTER_DATE="2024-12-01 12:00:00 +0000")
    for args in (["init", "-q", "-b", "main"], ["add", "-A", "."],
                 ["commit", "-q", "-m", "all"], ["update-index", "-q",
                                                 "--refresh"]):
        subprocess.run(git + args, env=env, check=True)


def make(home):
    put(home + "/.profile", PROFILE)
    put(home + "/.bash_profile", ". ~/.profile\n")
    put(home + "/.bashrc", BASHRC)
    put(home + "/.bash_aliases", "alias ll='ls -l'\n")
    put(home + "/.login-tasks", TASKS)
    put(home + "/bin/today", TODAY, 0o755)
    for i in range(RC_FILES):
        put("%s/.config/bash/%02d.sh" % (home, i),
            "f%d() { :; }\n" % i + "# %s\n" % ("x" * 70) * (i % 12))
    for i in range(20):
        put("%s/Documents/%02d.txt" % (home, i), words(i, 3000))
    confs(home + "/.config/common", COMMON_FILES, 1000)
    for g in range(GROUPS):
        confs("%s/.config/group%d" % (home, g), GROUP_FILES, 2000 + 100 * g)
        repo("%s/src/repo%d" % (home, g), 10000 * (g + 1))


# ---- report -----------------------------------------------------------------

AIM_CASE, AIM = "gone", 0.19
ARMS = ["direct", "floor", "without", "with"]
SHOWN = ["sessions_replayed", "sessions_stopped", "session_wanted",
         "session_used", "session_bytes", "prefetch_calls", "prefetch_bytes"]


def mean_95(values):
    """Mean and half the width of its 95% confidence interval."""
    if len(values) < 2:
        return (values[0] if values else math.nan), math.nan
    return (statistics.mean(values), t95(len(values)) *
            statistics.stdev(values) / math.sqrt(len(values)))


def read_counts(words, counts):
    when, what = words[3], words[4]
    if what == "nfsd":
        value = sum(map(int, words[6:]))
    elif what == "link":
        value = int(words[5])
    else:
        value = json.loads(" ".join(words[5:]))["servers"][0]["counters"]
    counts.setdefault(what, {})[when] = value


def read_rows(path):
    sessions, complete = [], False
    for line in open(path):
        words = line.split()
        if words[:1] == ["done"]:
            complete = True
        elif words[:1] == ["session"]:
            case, arm, kind, number, login, app, status, verdict = words[1:]
            sessions.append({
                "case": case, "arm": arm, "kind": kind, "number": int(number),
                "login_s": int(login) / 1e6, "app_s": int(app) / 1e6,
                "status": int(status), "ok": verdict == "ok", "counts": {}})
        elif words[:1] == ["count"]:
            read_counts(words, sessions[-1]["counts"])
    for s in sessions:
        counts = s.pop("counts")
        for what, name in ("nfsd", "server_calls"), ("link", "link_bytes"):
            c = counts.get(what, {})
            s[name] = c.get("after", 0) - c.get("before", 0)
        old, new = (counts.get("stats", {}).get(w, {})
                    for w in ("before", "after"))
        s["counters"] = {k: new.get(k, 0) - old.get(k, 0) for k in SHOWN}
    return sessions, complete


def total(s):
    return s["login_s"] + s["app_s"]


def sum_up(runs):
    out = {"n": len(runs)}
    for name, value in (("login_s", lambda s: s["login_s"]),
                        ("app_s", lambda s: s["app_s"]), ("total_s", total),
                        ("server_calls", lambda s: s["server_calls"]),
                        ("link_bytes", lambda s: s["link_bytes"])):
        values = [value(s) for s in runs]
        m, half = mean_95(values)
        out[name] = {"mean": m, "half_95": half,
                     "median": statistics.median(values)}
    out["counters"] = {k: statistics.mean(s["counters"][k] for s in runs)
                       for k in SHOWN}
    return out


def gain(runs):
    """Share of the time that replay saves, of pairs of the same round, and its
    95% interval: by the logarithms of their ratios."""
    without = {s["number"]: total(s) for s in runs["without"]}
    logs = [math.log(total(s) / without[s["number"]]) for s in runs["with"]
            if s["number"] in without]
    m, half = mean_95(logs)
    return {"gain": 1 - math.exp(m), "low": 1 - math.exp(m + half),
            "high": 1 - math.exp(m - half), "pairs": len(logs)}


def judge(sessions):
    cases = {}
    for case in dict.fromkeys(s["case"] for s in sessions
                              if s["kind"] == "timed"):
        runs = {arm: [s for s in sessions if s["case"] == case and
                      s["arm"] == arm and s["kind"] == "timed"]
                for arm in ARMS}
        runs = {arm: r for arm, r in runs.items() if r}
        cases[case] = {"arms": {arm: sum_up(r) for arm, r in runs.items()}}
        if "with" in runs and "without" in runs:
            cases[case]["replay"] = gain(runs)
    return cases


def put_case(name, case):
    print("%-8s %-8s %3s %16s %16s %16s %8s %9s" % (
        name, "", "n", "login s", "application s", "both s", "calls",
        "link kB"))
    for arm, a in case["arms"].items():
        print("%-8s %-8s %3d" % ("", arm, a["n"]), *(
            "%9.2f ±%5.2f" % (a[k]["mean"], a[k]["half_95"])
            for k in ("login_s", "app_s", "total_s")), "%8.0f %9.0f" % (
                a["server_calls"]["mean"], a["link_bytes"]["mean"] / 1e3))
    c = case["arms"].get("with", {}).get("counters")
    if c:
        print("         of a replay: %.0f objects wanted, %.0f used, "
              "%.0f kB asked for; %.1f stopped" % (
                  c["session_wanted"], c["session_used"],
                  c["session_bytes"] / 1e3, c["sessions_stopped"]))
    if "replay" in case:
        r = case["replay"]
        print("         with replay %.1f%% less time (95%%: %.1f to %.1f%%)%s"
              % (100 * r["gain"], 100 * r["low"], 100 * r["high"],
                 "; aim 19%: " + ("met" if r["gain"] >= AIM else "MISSED")
                 if name == AIM_CASE else ""))


def report(rows, rtt, rate, think, as_json, save):
    sessions, complete = read_rows(rows)
    cases = judge(sessions)
    wrong = sum(not s["ok"] for s in sessions)
    out = {"bench": "sessions", "rtt": rtt, "rate": rate,
           "think_s": float(think), "complete": complete, "wrong": wrong,
           "cases": cases, "sessions": sessions}
    if save:
        with open(save, "w") as f:
            json.dump(out, f, indent=1)
    if as_json == "yes":
        json.dump(out, sys.stdout, indent=1)
        print()
    else:
        print("bench/sessions/run, %s, %s, %s s between login and application; "
              "means and 95%% intervals" % (rtt, rate, think))
        for name, case in cases.items():
            put_case(name, case)
        if wrong:
            print("%d sessions WRONG" % wrong)
        if not complete:
            print("INCOMPLETE")
    aim = cases.get(AIM_CASE, {}).get("replay", {}).get("gain", AIM)
    return 1 if wrong or not complete or not cases or aim < AIM else 0


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    sys.exit(report(*sys.argv[2:]))
