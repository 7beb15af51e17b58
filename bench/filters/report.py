#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table of bench/filters/run: report.py SAVE FILE...

Each FILE is called LINK-RSIZE and has the JSON of bench/jobs/run; all of it goes to
SAVE, unless that is empty.  Exit status 1 where the aim is missed, or a run was
wrong or is missing.
"""
import json
import os
import statistics
import sys

RATE_BPS = {"wired": 10e6 / 8, "wireless": 2e6 / 8}
META = ("LOOKUP", "GETATTR", "ACCESS", "READDIR", "READDIRPLUS")
AIM, RATE_SHARE = 0.40, 0.60


def median(runs, value):
    return statistics.median(value(r) for r in runs)


def pick(runs, job, arm):
    return [r for r in runs if (r["job"], r["arm"]) == (job, arm) and
            r["kind"] == "timed" and r["ok"]]


def latency(run, names):
    return sum(run["client_ms"].get(n, 0) for n in names)


def share(runs, hits, misses):
    """Of the hits of all."""
    got = sum(r.get("counters", {}).get(n, 0) for r in runs for n in hits)
    not_got = sum(r.get("counters", {}).get(n, 0) for r in runs
                  for n in misses)
    return got / (got + not_got) if got + not_got else None


def row_of(link, runs, job):
    direct, ours = pick(runs, job, "direct"), pick(runs, job, "first")
    floor = pick(runs, job, "floor")
    if not direct or not ours or not floor:
        return None
    row = {"job": job}
    for name, mine in (("floor", floor), ("direct", direct), ("ours", ours)):
        row[name + "_s"] = median(mine, lambda r: r["s"])
        row[name + "_read_ms"] = median(mine, lambda r: latency(r, ["READ"]))
        row[name + "_meta_ms"] = median(mine, lambda r: latency(r, META))
    for what in ("read", "meta"):
        old, new = row["direct_%s_ms" % what], row["ours_%s_ms" % what]
        row[what + "_down"] = 1 - new / old if old else None
    old = row["direct_read_ms"] + row["direct_meta_ms"]
    new = row["ours_read_ms"] + row["ours_meta_ms"]
    row["down"] = 1 - new / old if old else None
    row["elapsed_down"] = 1 - row["ours_s"] / row["direct_s"]
    row["bytes_s"] = median(direct, lambda r: r["link_bytes_in"]) / \
        RATE_BPS[link]
    row["judged"] = row["bytes_s"] <= RATE_SHARE * row["direct_s"]
    row["data_hits"] = share(ours, ["data_hits"], ["data_misses"])
    row["meta_hits"] = share(
        ours, ["attr_hits", "name_hits", "access_hits", "negative_hits"],
        ["attr_misses", "name_misses", "access_misses"])
    for name, mine in (("direct", direct), ("ours", ours)):
        row[name + "_calls"] = median(
            mine, lambda r: sum(r["server_calls"].values()))
    return row


def percent(value):
    return "-" if value is None else "%.0f%%" % (100 * value)


def show(link, rsize, rows):
    print("\n%s, rsize %s" % (link, rsize))
    form = "%-11s" + " %7s" * 4 + " %8s" * 4 + " %6s" * 6 + " %6s %6s"
    print(form % ("", "floor", "direct", "ours", "bytes", "READ ms", "ours",
                  "meta ms", "ours", "READ", "meta", "all", "time", "data",
                  "meta", "calls", "ours"))
    print(form % ("", "s", "s", "s", "s", "direct", "", "direct", "", "down",
                  "down", "down", "down", "hits", "hits", "direct", ""))
    for r in rows:
        print(form % (
            r["job"], "%.2f" % r["floor_s"], "%.2f" % r["direct_s"],
            "%.2f" % r["ours_s"], "%.2f" % r["bytes_s"],
            "%.0f" % r["direct_read_ms"], "%.0f" % r["ours_read_ms"],
            "%.0f" % r["direct_meta_ms"], "%.0f" % r["ours_meta_ms"],
            percent(r["read_down"]), percent(r["meta_down"]),
            percent(r["down"]) + ("" if r["judged"] else "*"),
            percent(r["elapsed_down"]), percent(r["data_hits"]),
            percent(r["meta_hits"]), "%.0f" % r["direct_calls"],
            "%.0f" % r["ours_calls"]))


def main():
    save, files = sys.argv[1], sorted(sys.argv[2:])
    missed, everything = [], []
    for path in files:
        link, rsize = os.path.basename(path).split("-")
        result = json.load(open(path))
        missed += ["%s, rsize %s: %s" % (link, rsize, p)
                   for p in result["problems"]]
        rows = []
        for job in dict.fromkeys(r["job"] for r in result["runs"]):
            row = row_of(link, result["runs"], job)
            if not row:
                missed.append("%s, rsize %s, %s: no runs to compare" %
                              (link, rsize, job))
                continue
            rows.append(row)
            if row["judged"] and (row["down"] or 0) < AIM:
                missed.append("%s, rsize %s, %s: latency down %s" % (
                    link, rsize, job, percent(row["down"])))
        show(link, rsize, rows)
        everything.append({"link": link, "rsize": rsize, "rows": rows,
                           "jobs": result})
    print("\nMedians. bytes: what came in directly, by the link's rate. READ, "
          "meta: milliseconds\nthat the client waited for calls, added up; "
          "down: less than direct, all: both;\n*: not judged, as the bytes "
          "alone take long. time: of the elapsed seconds. hits:\nof the "
          "client's calls, answered by the proxy at once.")
    if save:
        with open(save, "w") as f:
            json.dump(everything, f, indent=1)
            f.write("\n")
    if not files:
        missed.append("nothing was measured")
    for m in missed:
        print("MISSED: " + m)
    return 1 if missed else 0


sys.exit(main())
