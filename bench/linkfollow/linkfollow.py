#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of bench/linkfollow/run, and its report.

In the guest:
  make DIR                  files to read
  read ARM DIR RUN          reads one after another until RUN/stop is there
  sample ARM SOCKET RUN     what forefetch shows of the link, twice a second
Both make RUN/begun-NAME when they have begun.

report ROWS WHAT JSON SAVE: ROWS is what guest.sh prints (its head has the
format); WHAT changes, rates or routes.  Exit status 1 where an aim is missed
or figures are missing.
"""
import json
import os
import random
import subprocess
import sys
import time

FILES, BYTES, IN_DIR = 1500, 65536, 50
FACTOR, LONGER_S = 1.5, 1

# For each kind of phase: where its figure stands in a row of what forefetch
# shows, its unit in the table, how soon it is to be followed, and which phases
# have such an aim.  The round trip's share of a shorter route is too small.
KINDS = {
    "rates": (1, "Mb/s", 8e-6, 5,
              ("20mbit", "1mbit", "20mbit-again", "back")),
    "routes": (2, "ms", 1e-3, 1,
               ("40ms", "5ms", "40ms-again", "300ms", "40ms-back")),
}


def now_us():
    return int(time.clock_gettime(time.CLOCK_REALTIME) * 1e6)


def say(*words):
    """In one piece: others write to the same pipe."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def path(top, i):
    return "%s/%d/%d" % (top, i // IN_DIR, i)


def make(top):
    rng = random.Random(1)
    for i in range(FILES):
        if i % IN_DIR == 0:
            os.makedirs("%s/%d" % (top, i // IN_DIR))
        with open(path(top, i), "wb") as f:
            f.write(rng.randbytes(BYTES))


def until_stop(run, name):
    """Turns of a loop; after the first one others know that it goes."""
    while not os.path.exists(run + "/stop"):
        yield
        open(run + "/begun-" + name, "w").close()


def read(arm, top, run):
    order = list(range(FILES))
    random.Random(2).shuffle(order)
    for i, _ in zip(order, until_stop(run, "read")):
        begin = now_us()
        with open(path(top, i), "rb", buffering=0) as f:
            size = 0
            while part := f.read(BYTES):
                size += len(part)
        assert size == BYTES
        say("file", arm, begin, now_us())


def sample(arm, socket, run):
    for _ in until_stop(run, "sample"):
        out = subprocess.run(
            ["forefetch", "--socket", socket, "stats", "--json"],
            stdout=subprocess.PIPE, check=True).stdout
        g = json.loads(out)["servers"][0]["gauges"]
        say("rate", arm, now_us(), g.get("link_rate", 0),
            g.get("link_base_us", 0))
        time.sleep(0.5)


# ---- the report -------------------------------------------------------------

def read_rows(name):
    phases, files, rates, complete = {}, {}, [], False
    for line in open(name):
        w = line.split()
        if w[0] == "phase":
            p = phases.setdefault(w[1], [])
            if p:
                p[-1]["end"] = int(w[4])
            p.append({"name": w[2], "value": int(w[3]), "begin": int(w[4])})
        elif w[0] == "file":
            files.setdefault(w[1], []).append((int(w[2]), int(w[3])))
        elif w[0] == "rate":
            rates.append((int(w[2]), int(w[3]), int(w[4])))
        elif w[0] == "done":
            complete = True
    return phases, files, rates, complete


def shown(p, rates, at):
    """When, and which value forefetch showed in that phase."""
    return [(row[0], row[at]) for row in rates
            if p["begin"] <= row[0] < p["end"]]


def follows(p, seen):
    """Seconds, or None where the estimate never comes there."""
    good = [(t, p["value"] / FACTOR <= value <= p["value"] * FACTOR)
            for t, value in seen]
    for i, (t, ok) in enumerate(good):
        rest = [g for _, g in good[i:]]
        if ok and sum(rest) >= 0.75 * len(rest):
            return (t - p["begin"]) / 1e6
    return None


def longest(p, files):
    took = [end - begin for begin, end in files if p["begin"] <= end < p["end"]]
    return max(took) / 1e6 if took else None


def phase_result(p, phases, files, rates, at):
    seen = shown(p, rates, at)
    direct = next((d for d in phases.get("direct", [])
                   if d["name"] == p["name"] and "end" in d), None)
    return {"phase": p["name"], "value": p["value"],
            "follows_s": follows(p, seen),
            "last": seen[-1][1] if seen else None,
            "files": sum(1 for _, end in files.get("proxy", [])
                         if p["begin"] <= end < p["end"]),
            "longest_s": longest(p, files.get("proxy", [])),
            "longest_direct_s":
            longest(direct, files.get("direct", [])) if direct else None}


def judge(results, complete, soon_s, judged):
    missed = [] if complete and results else ["not all runs are there"]
    for r in results:
        if r["phase"] in judged and (
                r["follows_s"] is None or r["follows_s"] > soon_s):
            missed.append("%s: followed after %s s" % (
                r["phase"], r["follows_s"]))
        if r["longest_s"] and r["longest_direct_s"] and \
                r["longest_s"] > r["longest_direct_s"] + LONGER_S:
            missed.append("%s: %.2f s for a file, direct %.2f" % (
                r["phase"], r["longest_s"], r["longest_direct_s"]))
    return missed


def number(value, form):
    return "-" if value is None else form % value


def report(name, what, as_json, save):
    at, unit, scale, soon_s, judged = KINDS[what]
    phases, files, rates, complete = read_rows(name)
    results = [phase_result(p, phases, files, rates, at)
               for p in phases.get("proxy", []) if "end" in p]
    missed = judge(results, complete, soon_s, judged)
    text = json.dumps({"phases": results, "missed": missed, "rates": rates,
                       "files": files}, indent=1)
    if save:
        with open(save, "w") as f:
            f.write(text + "\n")
    if as_json == "yes":
        print(text)
        return 1 if missed else 0
    print("%-13s%9s%11s%11s%7s%11s%11s" % (
        "phase", unit, "follows s", "last " + unit, "files", "longest s",
        "direct s"))
    for r in results:
        print("%-13s%9.1f%11s%11s%7d%11s%11s" % (
            r["phase"], r["value"] * scale, number(r["follows_s"], "%.1f"),
            number(r["last"] and r["last"] * scale, "%.1f"), r["files"],
            number(r["longest_s"], "%.2f"),
            number(r["longest_direct_s"], "%.2f")))
    for m in missed:
        print("MISSED: " + m)
    return 1 if missed else 0


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "make":
        make(*args)
    elif what == "read":
        read(*args)
    elif what == "sample":
        sample(*args)
    elif what == "report":
        return report(*args)
    else:
        sys.exit(__doc__)
    return 0


sys.exit(main())
