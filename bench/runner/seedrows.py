# SPDX-License-Identifier: GPL-2.0-or-later
"""Every figure of the five systems beside ours: met, not met, or not run.

A row: seed, what, theirs (as published), ours (a sentence), masked (of the time
that could be masked, the share that was; None where no limit is known), met
(True, False; None: nothing to compare), which experiment it is from.

A figure is met where ours is at least theirs, or where nearly all was masked
that could be: where the limit allows less than theirs, no more can be had.
"""
import statistics

import experiments
import figures
import others
from figures import one, pick

LEI = "Lei & Duchamp 1997"
KROEGER = "Kroeger & Long 2001"
AASFP = "AASFP 2002"
LEGION = "Legion 2000"
UBUNTU = "Ubuntu prefetch 2007"
NOT_RUN = "not run"
NEARLY_ALL = 0.95


def percent(value):
    if value is None:
        return "–"
    return ("%+.0f%%" % (100 * value)).replace("-", "−")


def row(seed, what, theirs, ours, met, where, masked=None):
    met = bool(met) or (masked is not None and masked >= NEARLY_ALL)
    return {"seed": seed, "what": what, "theirs": theirs,
            "ours": ours or NOT_RUN, "masked": masked if ours else None,
            "met": met if ours else None, "where": where}


def share(off, on, limit):
    """Of the time above the limit, what is gone; None where there is none."""
    if None in (off, on, limit) or off <= limit:
        return None
    return (off - on) / (off - limit)


def median_of(row):
    return row["s"]["median"] if row and row["s"] else None


def lei_and_duchamp(rows, records):
    trained = [r for r in rows if r["arm"] in ("bounded", "first-block",
                                               "first") and r["s"]]
    used, unused = (sum(r[k] for r in trained)
                    for k in ("used_objects", "unused_objects"))
    accuracy = figures.shared(used, unused)
    yield row(LEI, "accuracy: fetched ahead and used, of all fetched ahead",
              "about 90%", accuracy is not None and
              "%.1f%% of %d objects, all trained runs" % (
                  100 * accuracy, used + unused),
              accuracy is not None and accuracy >= 0.90, "all")
    mine = pick(trained, experiment="leiduchamp")
    yield reduction(rows, mine, "misses (buffers and names)", "−47% at most",
                    0.47, miss_down)
    yield reduction(rows, mine, "latency of the client's calls",
                    "−40% at most", 0.40, lambda rows, r: r["latency_down"])
    yield from filter_rows(rows)
    yield build_row(rows)
    cpu = [r["cpu_s"] / r["s"]["median"] for r in mine if r["cpu_s"]]
    yield row(LEI, "CPU of prefetching", "negligible",
              cpu and "the daemon takes %.1f%% of one processor while the job "
              "runs (median; most: %.1f%%)" % (
                  100 * statistics.median(cpu), 100 * max(cpu)),
              bool(cpu) and statistics.median(cpu) <= 0.05, "leiduchamp")
    harm = harm_case(records, "find")
    yield row(LEI, "a find over thousands of files", "hurt",
              harm and "on takes %.3f × off" % harm["ratio"],
              bool(harm) and harm["ratio"] <= figures.WORSE, "harm")


def miss_down(rows, r):
    direct = one(rows, cell=r["cell"], job=r["job"], arm="direct")
    if not direct or not direct["s"]:
        return None
    both = [x["data_misses"] + x["name_misses"] for x in (r, direct)]
    return figures.down(*both)


def reduction(rows, mine, what, theirs, aim, value):
    found = [v for v in (value(rows, r) for r in mine) if v is not None]
    return row(LEI, what, theirs,
               found and "%s at best, %s in the median of %d cases" % (
                   percent(-max(found)), percent(-statistics.median(found)),
                   len(found)),
               bool(found) and max(found) >= aim, "leiduchamp")


def filter_rows(rows):
    for link, theirs in (("wired", "large speed-ups, largest for small inputs"),
                         ("wireless", "speed-ups comparable to wired")):
        parts, gains, masked = [], [], []
        for r in pick(rows, experiment="leiduchamp", link=link, arm="first"):
            if r.get("times_direct"):
                masked.append(gap_closed(rows, r))
                floor = one(rows, cell=r["cell"], job=r["job"], arm="floor")
                gains.append(1 / r["times_direct"])
                parts.append("%s blocks × %.1f%s" % (
                    r["job"].split("-")[-1], gains[-1],
                    " (floor × %.1f)" % (1 / floor["times_direct"])
                    if floor and floor.get("times_direct") else ""))
        met = bool(gains) and gains[0] > 1.2 and gains[0] >= max(gains) * 0.9
        yield row(LEI, "40 filters, %s link: faster than direct" % link,
                  theirs, ", ".join(parts), met, "leiduchamp", least(masked))


def least(shares):
    """None where one of them is not known."""
    return min(shares) if shares and None not in shares else None


def build_row(rows):
    parts, met, masked = [], True, []
    for r in pick(rows, experiment="leiduchamp", arm="first-block",
                  job=("compile-4", "compile-all")):
        direct = one(rows, cell=r["cell"], job=r["job"], arm="direct")
        if not direct or not direct["s"] or not r["s"]:
            continue
        less = figures.down(r["data_misses"], direct["data_misses"])
        masked.append(gap_closed(rows, r))
        parts.append("%s: misses %s, time %s" % (
            r["link"], percent(None if less is None else -less),
            percent(r["times_direct"] - 1)))
        met = met and (less or 0) >= 0.65 and r["times_direct"] <= 1.02
    return row(LEI, "builds: buffer misses, and no harm",
               "−65…85%, latency unchanged", "; ".join(parts), met,
               "leiduchamp", least(masked))


def harm_case(records, name):
    for record in records:
        if record["kind"] == "harm" and record["result"]:
            for case in record["result"]["cases"]:
                if case["case"] == name:
                    return case
    return None


# job: what it stands for, elapsed, I/O, read latency, share of the gap closed
KROEGER_ROWS = {
    "andrew-make": ("Andrew, phase 5", 0.12, 0.90, 0.80, None),
    "ld": ("GNU ld links many objects", 0.11, 0.34, 0.33, 0.33),
    "index": ("an index of documentation", 0.16, 0.31, 0.92, 0.68),
    "zstd": ("a newer version is built", 0.11, 0.84, 0.70, 0.99),
}


def kroeger_and_long(rows):
    for job, (what, *aims) in KROEGER_ROWS.items():
        r = one(rows, experiment="kroegerlong", job=job, arm="bounded")
        names = ("elapsed", "I/O", "read latency", "of the gap to hot closed")
        theirs = ", ".join(
            "%s %s" % ((n, percent(-a)) if n != names[3] else
                       ("%.0f%%" % (100 * a), n))
            for n, a in zip(names, aims) if a is not None)
        ours, met, masked = None, None, None
        if r and r["s"] and r.get("times_direct"):
            masked = gap_closed(rows, r)
            mine = [1 - r["times_direct"], r["masked"], r["read_down"],
                    masked]
            ours = ", ".join(
                "%s %s" % ((n, percent(None if m is None else -m))
                           if n != names[3] else
                           ("–" if m is None else "%.0f%%" % (100 * m), n))
                for n, m in zip(names, mine))
            # A job that reads no more has no latency left to compare.
            met = all(m is None or a is None or m >= a
                      for m, a in zip(mine, aims))
        yield row(KROEGER, what, theirs, ours, met, "kroegerlong", masked)


def gap_closed(rows, r):
    """From the direct mount to the floor."""
    direct, floor = (median_of(one(rows, cell=r["cell"], job=r["job"], arm=a))
                     for a in ("direct", "floor"))
    return share(direct, median_of(r), floor)


AASFP_ROWS = (
    ("volume visualization, 4 KB, orthonormal", 68.95, 31.76, "orthonormal-4"),
    ("volume visualization, 4 KB, oblique", 83.05, 64.95, "oblique-4"),
    ("volume visualization, 32 KB, orthonormal", 36.87, 31.23, "orthonormal-32"),
    ("volume visualization, 32 KB, oblique", 30.99, 29.78,
     "oblique-32"),
    ("out-of-core FFT, 256K", 33.42, 33.74, "fft-256K"),
    ("out-of-core FFT, 512K", 66.68, 67.84, "fft-512K"),
    ("forward 1", 4.78, 4.76, "forward-1"),
    ("forward 2", 4.61, 4.84, "forward-2"),
    ("backward 1", 52.54, 7.63, "backward-1"),
    ("backward 2", 25.02, 6.19, "backward-2"),
)


def why_not_run(records, names):
    for record in records:
        if record["experiment"] in names and record["outcome"] != "ok":
            return "not run: " + (record["reason"] or record["outcome"])
    return NOT_RUN


def aasfp(records):
    cases = others.by_name(records)
    for what, before, after, key in AASFP_ROWS:
        gain = 1 - after / before
        # Where they gained nothing, there is no harm to be done.
        aim = gain if gain > 0.01 else -0.02
        yield compared(records, AASFP, what, "%.2f → %.2f s (%s)" % (
            before, after, percent(-gain)), aim, cases.get(key), "patterns")
    yield compared(records, AASFP, "hints, a random order never seen before",
                   "54% with 4 KB blocks", 0.54, cases.get("hints-blocks"),
                   "hints")


def legion(rows, records):
    cases = others.by_name(records)
    parts, met = [], True
    for key, what, most in (("hit", "on a hit", 0.0),
                            ("miss", "on a miss", 1.0)):
        case = cases.get("copies-%s-1m-cpu" % key)
        if case:
            parts.append("%.3f copies a byte %s" % (case["copies"], what))
            met = met and case["copies"] <= most
    yield row(LEGION, "copies on the way of a read of 1 MB",
              "3 block copies and a byte copy → 2 block copies",
              "; ".join(parts), met, "copies")
    r, direct = (one(rows, experiment="legion", arm=a)
                 for a in ("frozen", "direct"))
    ok = r and direct and r["s"] and direct["s"] and \
        r["read_down"] is not None
    yield row(LEGION, "latency of a READ of 1 MB", "−21.1 ms, −4.7%",
              ok and "%.1f → %.1f ms (%s) from the cache, at 1 Gb/s and "
              "0.2 ms; 8 MB: %.0f → %.0f ms" % (
                  direct["read_ms"], r["read_ms"], percent(-r["read_down"]),
                  1000 * direct["s"]["median"], 1000 * r["s"]["median"]),
              bool(ok) and r["read_down"] >= 0.047, "legion")
    yield compared(records, LEGION, "the same against a daemon that copies",
                   "−4.7%", 0.047, cases.get("copies-hit-1m-cpu"), "copies")


def ubuntu(rows, records):
    r, off, floor = (one(rows, experiment="today", job="login", arm=a)
                     for a in ("bounded", "off", "floor"))
    ok = r and off and r["s"] and off["s"]
    gain = 1 - r["s"]["median"] / off["s"]["median"] if ok else 0
    yield row(UBUNTU, "start-up, prefetch against none",
              "61.21 → 54.91 s (−10%)",
              ok and "a login (%s): %.2f → %.2f s (%s)" % (
                  experiments.LINKS[r["link"]],
                  off["s"]["median"], r["s"]["median"], percent(-gain)),
              gain >= 0.10, "today", share(median_of(off), median_of(r),
                                           median_of(floor)))
    cases = others.by_name(records)
    for what, theirs, aim, key, experiment in (
            ("with a heavy application; ours: sessions replayed",
             "81.01 → 65.53 s (−19%)", 0.19, "sessions-gone", "sessions"),
            ("layout by hand", "52.68 → 46.89 s (−11%)", 0.11, "layout-8-s",
             "layout"),
            ("layout, automatic", "52.68 → 47.75 s (−9%)", 0.09, "layout-8-s",
             "layout"),
            ("I/O ticks", "21.84 → 17.38 (−20%)", 0.20, "layout-8-reads",
             "layout")):
        yield compared(records, UBUNTU, what, theirs, aim, cases.get(key),
                       experiment)
    yield reorder(records)


def compared(records, seed, what, theirs, aim, case, experiment):
    """A row of one case of another script."""
    ours, met, masked = None, None, None
    if case:
        masked = share(case["off_s"], case["on_s"], case.get("limit_s"))
        mine = 1 - case["on_s"] / case["off_s"]
        ours = "%.2f → %.2f (%s): %s" % (case["off_s"], case["on_s"],
                                         percent(-mine), case["what"])
        met = mine >= aim
    out = row(seed, what, theirs, ours, met, experiment, masked)
    if not ours:
        out["ours"] = why_not_run(records, experiment.split(", "))
    return out


def reorder(records):
    ours, met = None, None
    for record in records:
        if record["id"] == "layout" and isinstance(record["result"], dict):
            made = record["result"].get("compact") or {}
            if "us" in made:
                ours = "%.2f s for %.1f MiB" % (made["us"] / 1e6,
                                                made["moved_bytes"] / 2**20)
                met = made["us"] <= 20e6
    out = row(UBUNTU, "reordering takes", "14 to 20 s", ours, met, "layout")
    if not ours:
        out["ours"] = why_not_run(records, ["layout"])
    return out


def table(rows, records):
    return (list(lei_and_duchamp(rows, records)) +
            list(kroeger_and_long(rows)) + list(aasfp(records)) +
            list(legion(rows, records)) + list(ubuntu(rows, records)))


def verdict(r):
    return {True: "met", False: "NOT met", None: "–"}[r["met"]]
