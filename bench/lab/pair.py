#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table and JSON of lab_pair: pair.py NAME ROWS [JSON].

ROWS has lines `side run microseconds status ok bytes`; sides are direct, first
(the proxy's first runs), proxy and floor; bytes came from the server, and are 0
where they were not counted.  Exit status 1 when a run is wrong.
"""
import json
import statistics
import sys


def read_rows(path):
    sides = {}
    for line in open(path):
        side, _, usec, status, ok, came = line.split()
        sides.setdefault(side, []).append(
            {"s": int(usec) / 1e6, "status": int(status), "ok": ok == "1",
             "bytes": int(came)})
    return sides


def median(runs, of="s"):
    good = [r[of] for r in runs if r["ok"]]
    return statistics.median(good) if good else None


def cell(runs):
    if not runs:
        return "-"
    if not all(r["ok"] for r in runs):
        return "WRONG"
    return "%.3f" % median(runs)


def bytes_line(sides):
    """The bytes that came from the server in each arm."""
    came = {s: median(runs, "bytes") for s, runs in sides.items()}
    if not came.get("direct"):
        return None
    return "%28s %9s %9s %9s %9s" % (
        ("KiB from the server", "") +
        tuple("%d" % (came[s] / 1024) if came.get(s) is not None else "-"
              for s in ("direct", "first", "proxy")))


def main():
    name, rows = sys.argv[1:3]
    sides = read_rows(rows)
    order = ["floor", "direct", "first", "proxy"]
    wrong = [s for s in order if not all(r["ok"] for r in sides.get(s, []))]
    med = {s: median(sides[s]) for s in order if s in sides}
    ratio = None
    if not wrong and med.get("direct") and med.get("proxy"):
        ratio = med["direct"] / med["proxy"]
    print("%-28s %9s %9s %9s %9s %9s" %
          ("job (median s)", "floor", "direct", "first", "proxy", "speed-up"))
    print("%-28s %9s %9s %9s %9s %9s" %
          ((name,) + tuple(cell(sides.get(s)) for s in order) +
           ("%.2f" % ratio if ratio else "-",)))
    if bytes_line(sides):
        print(bytes_line(sides))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a") as f:
            json.dump({"job": name, "median_s": med, "speed_up": ratio,
                       "wrong": wrong, "runs": sides}, f)
            f.write("\n")
    return 1 if wrong else 0


sys.exit(main())
