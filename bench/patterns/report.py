#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Report of bench/patterns/run: report.py ROWS RATE JSON SAVE.

ROWS is what guest.sh prints (its head has the format). Intervals are of
95%, by Student's t; a gain's is that of the differences of pairs of runs, over
direct's mean. Exit status 1 where an aim is missed, or a run void or missing.
"""
import json
import math
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "lab"))
from interval import t95  # noqa: E402

# Of direct's time that is to be saved at least; -0.02: within 2%.
AIMS = {"backward-1": .85, "backward-2": .75, "stride": .54,
        "stride-back": .54, "orthonormal-4": .54, "oblique-4": .22,
        "forward-1": -.02, "forward-2": -.02, "fft-256K": -.02,
        "fft-512K": -.02}
FORWARD = {"backward-1": "forward-1", "backward-2": "forward-2"}
BACKWARD_MOST = 1.6


def interval(values):
    """Mean, and half the interval; None without a second value."""
    mean, n = statistics.mean(values), len(values)
    if n < 2:
        return mean, None
    return mean, t95(n) * statistics.stdev(values) / math.sqrt(n)


def bits(rate):
    for unit, factor in (("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)):
        if rate.endswith(unit):
            return float(rate[:-len(unit)]) * factor
    return float(rate)


def read_rows(path):
    cases, whole = {}, False
    for line in open(path):
        words = line.split(None, 3)
        if words == ["done"]:
            whole = True
        elif words[0] == "stats":
            case = cases.setdefault(words[1], {"runs": []})
            case.setdefault("stats", []).append(
                json.loads(words[3])["servers"][0]["counters"])
        elif words[0] == "run":
            _, name, arm, n, crc, reads, size, us, received = line.split()
            cases.setdefault(name, {"runs": []})["runs"].append(
                {"arm": arm, "n": int(n), "sum": crc, "reads": int(reads),
                 "bytes": int(size), "received": int(received),
                 "s": int(us) / 1e6})
    return cases, whole


def times(case, arm):
    return [r["s"] for r in sorted(case["runs"], key=lambda r: r["n"])
            if r["arm"] == arm]


def judge(name, case, rate):
    direct, ours = times(case, "direct"), times(case, "ours")
    case["void"] = len({r["sum"] for r in case["runs"]}) != 1
    if case["void"] or not direct or len(direct) != len(ours):
        return False
    case["direct_s"], case["ours_s"] = interval(direct), interval(ours)
    mean = case["direct_s"][0]
    case["gain"] = interval([(d - o) / mean for d, o in zip(direct, ours)])
    # No run can do with less than came in the run to which the least came.
    # An FFT writes, too, and waits for that.
    case["least_s"] = None
    if not name.startswith("fft"):
        case["least_s"] = 8 / rate * min(
            r["received"] for r in case["runs"] if r["arm"] != "train")
    case["aim"] = AIMS.get(name)
    return True


def plus(pair, scale=1, form="%.2f"):
    mean, half = pair
    text = form % (mean * scale)
    return text + (" ± " + form % (half * scale) if half is not None else "")


def missed(name, case, cases):
    out = []
    aim, gain = case["aim"], case["gain"][0]
    if aim is not None and gain < aim:
        out.append("%s: %.1f%% less time than direct, aim %.0f%%" %
                   (name, gain * 100, aim * 100))
    forward = cases.get(FORWARD.get(name))
    if forward and "ours_s" in forward:
        case["of_forward"] = case["ours_s"][0] / forward["ours_s"][0]
        if case["of_forward"] > BACKWARD_MOST:
            out.append("%s: %.2f of forward, aim %g" %
                       (name, case["of_forward"], BACKWARD_MOST))
    return out


def table(cases):
    print("%-15s %15s %15s %8s %17s %5s" %
          ("case (s)", "direct", "ours", "least", "less than direct %", "aim"))
    for name, case in cases.items():
        if "gain" not in case:
            print("%-15s %s" % (name, "VOID" if case["void"] else "missing"))
            continue
        least = "%.2f" % case["least_s"] if case["least_s"] else "-"
        aim = "%.0f" % (case["aim"] * 100) if case["aim"] is not None else "-"
        note = "  %.2f of forward" % case["of_forward"] \
            if "of_forward" in case else ""
        if name.startswith("oblique"):
            note = "  by replay"
        print("%-15s %15s %15s %8s %17s %5s%s" %
              (name, plus(case["direct_s"]), plus(case["ours_s"]), least,
               plus(case["gain"], 100, "%.1f"), aim, note))


def main():
    path, rate, as_json, save = sys.argv[1:5]
    cases, whole = read_rows(path)
    misses = []
    for name, case in cases.items():
        if not judge(name, case, bits(rate)):
            misses.append("%s: void, or runs are missing" % name)
    for name, case in cases.items():
        if "gain" in case:
            misses += missed(name, case, cases)
    if not whole:
        misses.append("not all was run")
    out = json.dumps({"cases": cases, "missed": misses}, indent=1)
    if save:
        with open(save, "w") as f:
            f.write(out + "\n")
    if as_json == "yes":
        print(out)
    else:
        table(cases)
        for m in misses:
            print("missed:", m)
    return 1 if misses else 0


sys.exit(main())
