#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Report of bench/copies/run: report.py DIRECTORY RUNS yes|no.

DIRECTORY has TEST.RUN.load of nfsload and TEST.RUN.0.NAME, TEST.RUN.1.NAME of
forefetch, before and after; NAME is plain or copying.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lab"))
from interval import mean_interval  # noqa: E402

TESTS = [("hit-1m", "READ 1 MiB, hits"), ("hit-64k", "READ 64 KiB, hits"),
         ("hit-4k", "READ 4 KiB, hits"), ("miss-1m", "READ 1 MiB, misses"),
         ("miss-64k", "READ 64 KiB, misses"),
         ("miss-4k", "READ 4 KiB, misses")]
NAMES = ("plain", "copying")
AIM = 0.047
COPIES = ("bytes_copied", "data_copied_bytes")
# The first pass over each brings so many bytes in; it is not counted: misses.
PRIMED = {"hit-1m": 32 << 20, "hit-64k": 64 << 16, "hit-4k": 256 << 12}


def load(*path):
    with open(os.path.join(*path)) as f:
        return json.load(f)


def counters(where, test, run, when, name):
    return load(where, "%s.%d.%d.%s" % (test, run, when, name))[
        "servers"][0]["counters"]


def copies(where, test, run, name):
    """Bytes copied and returned. Of hits, what the first pass may have cost is
    taken off: each byte copied for the client and for the cache."""
    old, new = (counters(where, test, run, i, name) for i in (0, 1))
    copied = sum(new[c] - old[c] for c in COPIES)
    first = PRIMED.get(test, 0)
    return max(0, copied - 2 * first), (
        new["bytes_returned"] - old["bytes_returned"] - first)


def one_run(where, test, run):
    rows = {r["target"]: r for r in load(where, "%s.%d.load" % (test, run))}
    out = {}
    for name in NAMES:
        row = rows[name]
        if row["errors"]:
            sys.exit("copies: %s: %s" % (test, row["first_error"]))
        copied, returned = copies(where, test, run, name)
        out[name] = {"us_per_mib": 2**20 / row["mb_per_s"],
                     "cpu_us_per_mib": 2**20 / row["mb_per_cpu_s"],
                     "copied": copied, "returned": returned}
    return out


def less(runs, key):
    """How much less the plain build takes, as a part of the copying one."""
    return mean_interval([1 - r["plain"][key] / r["copying"][key]
                          for r in runs])


def summary(where, test, title, n):
    runs = [one_run(where, test, i) for i in range(n)]
    out = {"test": test, "title": title, "n": n,
           "time_less": less(runs, "us_per_mib"),
           "cpu_less": less(runs, "cpu_us_per_mib"), "runs": runs}
    for name in NAMES:
        out[name] = {
            "us_per_mib": mean_interval(
                [r[name]["us_per_mib"] for r in runs]),
            "cpu_us_per_mib": mean_interval(
                [r[name]["cpu_us_per_mib"] for r in runs]),
            "copies_per_byte": sum(r[name]["copied"] for r in runs) /
            sum(r[name]["returned"] for r in runs)}
    return out


def verdicts(rows):
    for r in rows:
        most = 0 if r["test"].startswith("hit") else 1
        if r["plain"]["copies_per_byte"] > most:
            yield "%s: %.4f copies a byte" % (
                r["title"], r["plain"]["copies_per_byte"])
    first = rows[0]
    if not any(x["mean"] >= AIM and x["low"] > 0
               for x in (first["time_less"], first["cpu_less"])):
        yield "%s: less than 4.7 %% less" % first["title"]


def percent(x):
    return "%5.1f%% (%.1f to %.1f)" % (
        x["mean"] * 100, x["low"] * 100, x["high"] * 100)


def main():
    where, n = sys.argv[1], int(sys.argv[2])
    rows = [summary(where, test, title, n) for test, title in TESTS]
    missed = list(verdicts(rows))
    if sys.argv[3] == "yes":
        print(json.dumps({"rows": rows, "missed": missed}, indent=1))
        return 1 if missed else 0
    print("%-20s %-14s %-15s %-15s %-23s %s" % (
        "", "copies a byte", "time us/MiB", "CPU us/MiB", "time less (95%)",
        "CPU less (95%)"))
    for r in rows:
        pair = [r[name] for name in NAMES]
        print("%-20s %-14s %-15s %-15s %-23s %s" % (
            r["title"],
            "%.3f / %.3f" % tuple(p["copies_per_byte"] for p in pair),
            "%.0f / %.0f" % tuple(p["us_per_mib"]["mean"] for p in pair),
            "%.0f / %.0f" % tuple(p["cpu_us_per_mib"]["mean"] for p in pair),
            percent(r["time_less"]), percent(r["cpu_less"])))
    print("n = %d pairs; each cell: as it is / with copies" % n)
    for m in missed:
        print("MISSED: " + m)
    return 1 if missed else 0


sys.exit(main())
