# SPDX-License-Identifier: GPL-2.0-or-later
"""From what bench/jobs/run saved of first runs to one table, with its bars."""
import statistics

# How many times as fast as direct a first run has to be at 40 ms and 20 Mb/s,
# and how many it should be.
BARS = {"node": (8, 12), "git": (12, 20), "grep": (12, 25),
        "import": (3.5, 5), "login": (20, None)}
# Bars of all others, if what the link and the job itself take allows them.
OTHERS = {"ld": 6, "index": 6, "tex": 6, "editor": 6, "compile": 6}
# On any link: of the direct mount's time, and of its bytes.
SLOWER = 1.02
WIRE, WIRE_SLOW = 2.0, 1.5
# Of the data of a first run, what the second may fetch again; in these arms.
AGAIN = 0.02
SECOND = ("frozen", "bounded")
# The worst run by the best, for jobs that once had two fates.
STEADY = {"grep": 1.5}
RATES = {"lan": 1e9, "wired": 10e6, "wireless": 2e6, "wifi": 20e6, "wan": 20e6,
         "satellite": 10e6}    # bit/s; mobile's moves

EXPLAINED = """\
  direct      seconds of the direct mount, median
  least       what the job takes without a link, or the bytes of the direct run
              on this link, if that is more
  first       seconds of the first runs: median, least, most
  x faster    direct / median
  bar, aim    what `x faster` has to be, and should be; a bar that `least` does
              not allow is in brackets and does not count
  worst/best  most / least
  x wire      bytes over the link, by the direct run's; what nobody used is in
              it, and what came after the job's end. At most 2, or 1.5 at 2 Mb/s
  cpu s       of the daemon, while the job ran
  misses      calls of the client that no cache answered
  before      with --beside: median of the first runs there"""


def spread(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "n": len(values)} if values else None


def mean(runs, key):
    found = [r[key] for r in runs if r.get(key) is not None]
    return statistics.mean(found) if found else None


def ratio(a, b):
    return a / b if a is not None and b else None


def timed(result, arm):
    return [r for r in result["runs"] if r["arm"] == arm and
            r["kind"] == "timed"]


def row_of(job, result, link, arm, before):
    """One row: first runs of a job with this arm, beside its direct runs."""
    every = timed(result, arm)
    good = [r for r in every if r["ok"]]
    direct = [r for r in timed(result, "direct") if r["ok"]]
    floor = spread([r["s"] for r in timed(result, "floor") if r["ok"]])
    row = {"job": job, "arm": arm, "wrong": len(every) - len(good),
           "direct_s": spread([r["s"] for r in direct]),
           "direct_bytes": mean(direct, "link_bytes_in"),
           "floor_s": floor and floor["median"],
           "first_s": spread([r["s"] for r in good]),
           "bytes": mean(good, "link_bytes_in"),
           "cpu_s": mean(good, "daemon_cpu_s"),
           "misses": mean(good, "misses"), "before_s": None}
    if before:
        row["before_s"] = before["first_s"]
        if not direct:
            row.update(direct_s=before["direct_s"],
                       direct_bytes=before["direct_bytes"])
    row["least_s"] = row["floor_s"]
    if row["direct_bytes"] and row["floor_s"] and link in RATES:
        row["least_s"] = max(row["floor_s"],
                             8 * row["direct_bytes"] / RATES[link])
    middle = row["first_s"] and row["first_s"]["median"]
    row["faster"] = ratio(row["direct_s"] and row["direct_s"]["median"], middle)
    row["times_wire"] = ratio(row["bytes"], row["direct_bytes"])
    row["worst_best"] = row["first_s"] and row["first_s"]["max"] / \
        row["first_s"]["min"]
    set_bar(row, link)
    return row


def set_bar(row, link):
    row["bar"] = row["aim"] = None
    row["allowed"] = True
    if link != "wan":
        row["bar"] = 1 / SLOWER
        return
    if row["job"] in BARS:
        row["bar"], row["aim"] = BARS[row["job"]]
    elif row["job"] in OTHERS:
        row["bar"] = OTHERS[row["job"]]
        most = ratio(row["direct_s"] and row["direct_s"]["median"],
                     row["least_s"])
        row["allowed"] = most is None or most >= row["bar"]


def missed_of(row, link):
    """Sentences on what a row misses."""
    job = row["job"]
    if row["wrong"]:
        yield "%s: %d runs were WRONG: output or status differ from the " \
            "direct mount's" % (job, row["wrong"])
    if not row["first_s"]:
        yield job + ": there is no first run"
        return
    faster = row["faster"]
    if faster is not None and row["bar"] and row["allowed"] and \
            faster < row["bar"]:
        yield "%s: × %.2f, the bar is × %.2f" % (job, faster, row["bar"])
    elif faster is not None and faster < 1 / SLOWER:
        yield "%s: slower than direct, × %.2f" % (job, faster)
    if row["worst_best"] > STEADY.get(job, float("inf")) and link == "wan":
        yield "%s: the worst run took %.2f of the best, the bar is %.2f" % (
            job, row["worst_best"], STEADY[job])
    most = WIRE_SLOW if link == "wireless" else WIRE
    if row["times_wire"] and row["times_wire"] > most:
        yield "%s: %.2f of the direct run's bytes, the bar is %.1f" % (
            job, row["times_wire"], most)


def after_row(job, result, arm, after):
    """The runs in an empty cache beside those after another job. Each round
    made both: the ratio is the median of the rounds'."""
    name = arm + "+" + after
    rounds = {}
    for r in timed(result, arm) + timed(result, name):
        if r["ok"]:
            rounds.setdefault(r["number"], {})[r["arm"]] = r["s"]
    pairs = [p[name] / p[arm] for p in rounds.values() if len(p) == 2]
    empty, taught = ([r for r in timed(result, a) if r["ok"]]
                     for a in (arm, name))
    return {"job": job, "after": after,
            "wrong": sum(not r["ok"] for r in timed(result, name)),
            "empty_s": spread([r["s"] for r in empty]),
            "after_s": spread([r["s"] for r in taught]),
            "empty_bytes": mean(empty, "link_bytes_in"),
            "after_bytes": mean(taught, "link_bytes_in"),
            "ratio": statistics.median(pairs) if pairs else None}


def noise(row):
    """How far the runs in an empty cache lie apart is no harm."""
    s = row["empty_s"]
    return max(SLOWER, s["max"] / s["median"]) if s else SLOWER


def missed_after(row):
    if row["wrong"]:
        yield "%s after %s: %d runs were WRONG" % (row["job"], row["after"],
                                                   row["wrong"])
    if row["ratio"] is None:
        yield "%s after %s: there is no pair of runs" % (row["job"],
                                                         row["after"])
    elif row["ratio"] > noise(row):
        yield "%s: %.2f of the time of an empty cache after %s" % (
            row["job"], row["ratio"], row["after"])


def merge(done, link, arm, after=None, beside=None):
    """One result of {job: what bench/jobs/run saved}."""
    old = {r["job"]: r for r in (beside or {}).get("rows", [])}
    first = next((r for r in done.values() if "date" in r), {})
    out = {"link": link, "arm": arm, "after": after, "rows": [],
           "after_rows": [], "missed": [], "problems": [], "runs": []}
    for key in ("date", "kernel", "versions", "set"):
        out[key] = first.get(key)
    for job, result in done.items():
        row = row_of(job, result, link, arm, old.get(job))
        out["rows"].append(row)
        out["problems"] += result["problems"]
        out["runs"] += [r for r in result["runs"] if r["kind"] != "ref"]
        if after:
            found = after_row(job, result, arm, after)
            out["after_rows"].append(found)
            out["missed"] += missed_after(found)
        else:
            out["missed"] += missed_of(row, link)
    return out


def second_row(job, result, arm):
    """Makes the row of a second run, after a restart: how much of the data of
    the first it fetched."""
    mine = [r for r in result["runs"] if r["arm"] == arm]
    first = [r for r in mine if r["kind"] == "train" and r["ok"]]
    again = [r for r in timed(result, arm) if r["ok"]]
    row = {"job": job, "arm": arm, "wrong": sum(not r["ok"] for r in mine),
           "first_s": mean(first, "s"), "second_s": mean(again, "s"),
           "first_bytes": mean(first, "upstream_read_bytes"),
           "second_bytes": mean(again, "upstream_read_bytes")}
    row["share"] = ratio(row["second_bytes"], row["first_bytes"])
    return row


def missed_second(row):
    where = "%s, %s: " % (row["job"], row["arm"])
    if row["wrong"]:
        yield where + "%d runs were WRONG" % row["wrong"]
    if row["share"] is None:
        yield where + "a run is missing"
    elif row["share"] > AGAIN:
        yield where + "%.1f%% of the data again, the bar is %.0f%%" % (
            100 * row["share"], 100 * AGAIN)


def merge_second(done, link):
    out = dict(merge({}, link, "prefetch = off"), second_rows=[])
    for job, result in done.items():
        out["problems"] += result["problems"]
        out["runs"] += [r for r in result["runs"] if r["kind"] != "ref"]
        for arm in SECOND:
            row = second_row(job, result, arm)
            out["second_rows"].append(row)
            out["missed"] += missed_second(row)
    return out


def number(value, form="%.2f"):
    return "-" if value is None else form % value


def of(s, key="median"):
    return number(s and s[key])


def bar_cell(row):
    if row["bar"] is None:
        return "-"
    return ("%.3g" if row["allowed"] else "(%.3g)") % row["bar"]


def verdict(row):
    if row["faster"] is None or row["bar"] is None or not row["allowed"]:
        return ""
    if row["aim"] and row["faster"] >= row["aim"]:
        return "aim"
    return "met" if row["faster"] >= row["bar"] else "NOT met"


def cells(row):
    s = row["first_s"]
    return [row["job"], of(row["direct_s"]), number(row["least_s"]), of(s),
            of(s, "min"), of(s, "max"),
            ("%d" % s["n"] if s else "0") + ("!" if row["wrong"] else ""),
            number(row["faster"], "%.1f"), bar_cell(row),
            number(row["aim"], "%.3g"), verdict(row),
            number(row["worst_best"]), number(row["times_wire"]),
            number(row["cpu_s"]), number(row["misses"], "%.0f"),
            of(row["before_s"])]


HEAD = ["job", "direct", "least", "first", "min", "max", "n", "x faster",
        "bar", "aim", "", "worst/best", "x wire", "cpu s", "misses", "before"]
SECOND_HEAD = ["job", "arm", "first s", "second s", "MB first", "MB second",
               "again"]
AFTER_HEAD = ["job", "after", "empty", "min", "max", "after", "min", "max",
              "n", "after/empty", "MB empty", "MB after"]


def megabytes(value):
    return number(None if value is None else value / 1e6, "%.2f")


def after_cells(row):
    s, t = row["empty_s"], row["after_s"]
    return [row["job"], row["after"], of(s), of(s, "min"), of(s, "max"),
            of(t), of(t, "min"), of(t, "max"), "%d" % (t["n"] if t else 0),
            number(row["ratio"]), megabytes(row["empty_bytes"]),
            megabytes(row["after_bytes"])]


def second_cells(row):
    return [row["job"], row["arm"], number(row["first_s"]),
            number(row["second_s"]), megabytes(row["first_bytes"]),
            megabytes(row["second_bytes"]), number(
                None if row["share"] is None else 100 * row["share"],
                "%.1f%%")]


def lines(head, rows):
    width = [max(len(r[i]) for r in rows + [head]) for i in range(len(head))]
    for r in [head] + rows:
        yield " ".join([r[0].ljust(width[0])] + [
            c.rjust(w) for c, w in zip(r[1:], width[1:])]).rstrip()


def show(result, out):
    rows = result["rows"]
    head, made = HEAD, [cells(r) for r in rows]
    if not any(r["before_s"] for r in rows):
        head, made = head[:-1], [m[:-1] for m in made]
    out.write("First runs at %s: empty cache, nothing learned (%s)\n\n" % (
        result["link"], result["arm"]))
    if "second_rows" in result:
        head = SECOND_HEAD
        made = [second_cells(r) for r in result["second_rows"]]
    if result["after_rows"]:
        head, made = AFTER_HEAD, [after_cells(r) for r in result["after_rows"]]
    for line in lines(head, made):
        out.write(line + "\n")
    for text in result["missed"]:
        out.write("MISSED: " + text + "\n")
