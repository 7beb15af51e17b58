#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table or JSON of bench/layout/run: report.py ROWS yes|no."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "lab"))
from interval import mean_interval  # noqa: E402


def read_rows(path):
    compact, runs = None, []
    for line in open(path):
        if line.startswith("compact "):
            _, us, made = line.split(maxsplit=2)
            compact = dict(json.loads(made)["servers"][0], us=int(us))
        elif line.startswith("run "):
            _, delay, side, us, total, *numbers = line.split()
            got, seq, n, reads = map(int, numbers)
            runs.append({"delay_ms": int(delay), "side": side,
                         "s": int(us) / 1e6, "sum": total, "bytes": got,
                         "sequential_bytes": seq, "runs": n, "reads": reads})
    return compact, runs


def share(run):
    return run["sequential_bytes"] / run["bytes"] if run["bytes"] else 0.0


def disk_of(runs, delay):
    out = {"delay_ms": delay}
    sides = {s: [r for r in runs if r["delay_ms"] == delay and
                 r["side"] == s] for s in ("before", "after")}
    for name, some in sides.items():
        out[name] = {
            "s": mean_interval([r["s"] for r in some]),
            "share": mean_interval([share(r) for r in some]),
            "runs": sum(r["runs"] for r in some) / len(some),
            "reads": sum(r["reads"] for r in some) / len(some),
            "bytes": some[0]["bytes"]}
    out["saved_s"] = mean_interval(
        [a["s"] - b["s"] for a, b in zip(sides["before"], sides["after"])])
    out["gain"] = out["saved_s"]["low"] > 0
    out["n"] = len(sides["before"])
    return out


def main():
    compact, runs = read_rows(sys.argv[1])
    missed = []
    if len({r["sum"] for r in runs}) != 1:
        missed.append("void: not the same bytes each time")
    disks = [disk_of(runs, d) for d in sorted({r["delay_ms"] for r in runs})]
    for d in disks:
        if d["after"]["share"]["low"] < 0.9:
            missed.append("delay %d ms: a sequential share of %.3f" % (
                d["delay_ms"], d["after"]["share"]["mean"]))
    if sys.argv[2] == "yes":
        print(json.dumps({"compact": compact, "disks": disks, "runs": runs,
                          "missed": missed}, indent=1))
        return 1 if missed else 0
    print("compact: %s, %.1f MiB moved in %.2f s; sequential %.3f -> %.3f, "
          "runs %d -> %d" % (
              compact["end"], compact["moved_bytes"] / 2**20,
              compact["us"] / 1e6,
              share(compact["before"]), share(compact["after"]),
              compact["before"]["runs"], compact["after"]["runs"]))
    print("%8s %-7s %8s %7s %9s %-24s %s" % (
        "disk", "layout", "share", "runs", "reads", "seconds (95%)",
        "saved (95%)"))
    for d in disks:
        for side in ("before", "after"):
            r = d[side]
            saved = ""
            if side == "after":
                s = d["saved_s"]
                saved = "%.3f s (%.3f to %.3f), %.0f%%" % (
                    s["mean"], s["low"], s["high"],
                    s["mean"] * 100 / d["before"]["s"]["mean"])
                if not d["gain"]:
                    saved += ": no gain on this disk"
            print("%8s %-7s %8.3f %7.0f %9.0f %-24s %s" % (
                "+%d ms" % d["delay_ms"] if side == "before" else "", side,
                r["share"]["mean"], r["runs"], r["reads"],
                "%.3f (%.3f to %.3f)" % (
                    r["s"]["mean"], r["s"]["low"], r["s"]["high"]), saved))
    print("n = %d pairs on each disk" % disks[0]["n"])
    for m in missed:
        print("MISSED: " + m)
    return 1 if missed else 0


sys.exit(main())
