#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Report of `bench/loopback/run --hits`: hits.py DIRECTORY JSON CHECK.

DIRECTORY has TEST.json of nfsload and TEST.MODE.before.stats, .after.stats of
forefetch; JSON and CHECK are yes or no.  Exit status 1 with CHECK where an
aim is missed.
"""
import json
import os
import sys

TESTS = [("getattr", "GETATTR, 8 at a time", "ops"),
         ("lookup", "LOOKUP, 8 at a time", "ops"),
         ("read4k", "READ 4 KiB, 8 at a time", "ops"),
         ("read1m", "READ 1 MiB, 4 at a time", "mb"),
         ("getattr-1", "GETATTR, 1 at a time", "ops"),
         ("read4k-1", "READ 4 KiB, 1 at a time", "ops")]
AIMED_AT = TESTS[:4]
FILES = {"read4k": 256 * 65536, "read1m": 64 << 20, "read4k-1": 64 * 65536}


def load(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def totals(stats):
    """(bytes copied, bytes returned, calls of clients, calls to the server)"""
    if not stats or not stats["servers"]:
        return None
    server = stats["servers"][0]
    calls = {"client": 0, "upstream": 0}
    for c in server["calls"]:
        if c["program"] == "nfs":
            calls[c["side"]] += c["calls"]
    counters = server["counters"]
    return (counters.get("bytes_copied", 0), counters.get("bytes_returned", 0),
            calls["client"], calls["upstream"])


def add_daemon(where, test, row):
    """Copies a byte, and the share of calls that were passed on.

    The first pass over the working set, misses, is in the counters: one copy
    of each of its bytes is taken off, as a miss may cost that."""
    name = os.path.join(where, "%s.%s." % (test, row["target"]))
    old, new = totals(load(name + "before.stats")), totals(
        load(name + "after.stats"))
    if not old or not new:
        return
    copied, returned, client, upstream = (n - o for o, n in zip(old, new))
    first = FILES.get(test, 0)
    if returned > first:
        row["copies_per_byte"] = max(0, copied - first) / (returned - first)
    if client:
        row["passed_on"] = upstream / client


def collect(where):
    rows = []
    for test, title, unit in TESTS:
        found = load(os.path.join(where, test + ".json")) or []
        base = next((r for r in found if r["target"] == "direct"), None)
        for r in found:
            row = dict(r, test=test, title=title)
            key = unit + "_per_cpu_s"
            if base and base.get(key) and r.get(key):
                row["per_core_ratio"] = r[key] / base[key]
            add_daemon(where, test, row)
            row["met"] = verdict(test, row)
            rows.append(row)
    return rows


def verdict(test, row):
    if row["target"] in ("direct", "again"):
        return None
    if test not in [t[0] for t in AIMED_AT] or "per_core_ratio" not in row:
        return None
    return (row["per_core_ratio"] > 1 and
            row.get("copies_per_byte", 0) < 0.005)


def cell(row, key, form):
    return form % row[key] if key in row else "-"


def print_table(rows):
    print("%-24s %-8s %9s %8s %6s %10s %9s %9s %7s %7s  %s" % (
        "procedure", "target", "ops/s", "MB/s", "cores", "ops/core s",
        "MB/core s", "per core", "copies", "passed", "aim"))
    last = None
    for r in rows:
        title = r["title"] if r["title"] != last else ""
        last = r["title"]
        aim = {None: "", True: "met", False: "MISSED"}[r["met"]]
        print(("%-24s %-8s %9.0f %8.0f %6s %10s %9s %9s %7s %7s  %s" % (
            title, r["target"], r["ops_per_s"], r["mb_per_s"],
            cell(r, "cores", "%.2f"), cell(r, "ops_per_cpu_s", "%.0f"),
            cell(r, "mb_per_cpu_s", "%.0f"),
            cell(r, "per_core_ratio", "x %.2f"),
            cell(r, "copies_per_byte", "%.2f"),
            cell(r, "passed_on", "%.3f"), aim)).rstrip())
        if r["errors"]:
            print("%33s%d errors, first: %s" % ("", r["errors"],
                                                r["first_error"]))
    print("\ncores, core s: CPU time of all servers that took part, the "
          "proxy's and the\nserver's behind it. per core: calls, for 1 MiB "
          "bytes, a core second, against direct;\n`again` is noise. copies: "
          "a byte returned, the first pass left out. passed: calls\nto the "
          "server a call, first pass and set-up included.")


def main():
    where, as_json, check = sys.argv[1], sys.argv[2] == "yes", \
        sys.argv[3] == "yes"
    rows = collect(where)
    if as_json:
        print(json.dumps([{k: v for k, v in r.items() if k != "title"}
                          for r in rows], indent=1))
    else:
        print_table(rows)
    return 1 if check and any(r["met"] is False for r in rows) else 0


sys.exit(main())
