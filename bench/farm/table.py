#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table and JSON of bench/farm/run: table.py [--save FILE] --rows LIST LINES.

LINES is what guest.sh printed; its head has the format. Exit status 1 where a
bar was missed, or a run is wrong or missing.
"""
import argparse
import json
import statistics
import sys
import time

# Bars and aims: at most, or at least.
SECOND, SECOND_AIM = 1.5, 1.15
FASTER = {"import": 10, "import-1": 10}
FASTER_ELSE = 15
BYTES, BYTES_AIM = 1.5, 1.2
UNKNOWN = 1.02
FAULT = 1.05
TOO_FAST = 0.5          # of the floor: the job cannot have been done

WHAT = {
    "second": "second machine's first run, to the first's trained run",
    "direct": "direct, to the second machine's first run",
    "turns": "bytes of %d machines, one after another, to one's",
    "once": "bytes of %d machines at once, to one's",
    "unknown": "a job the farm knows nothing of, to none",
    "cpu-take": "daemon's CPU where the farm has all, to none",
    "cpu-publish": "daemon's CPU where the farm has nothing of it, to none",
}
FAULTS = {
    "stopped": "engine stopped", "hung": "engine hung",
    "hung-midway": "engine hung midway", "filled": "engine full",
    "killed": "engine killed midway", "cluster": "a cluster's master killed "
    "midway",
}


def parse(lines):
    """{farm, runs, many, keys, done} of the guest's lines."""
    found = {"farm": None, "runs": [], "many": [], "keys": {}, "done": False}
    for line in lines:
        words = line.split()
        if not words:
            continue
        what, pairs = words[0], dict(w.split("=", 1) for w in words[1:]
                                     if "=" in w)
        if what == "farm":
            found["farm"] = pairs["known"] == "yes"
        elif what == "keys":
            found["keys"][pairs["what"]] = float(pairs["value"])
        elif what == "done":
            found["done"] = True
        elif what in ("run", "many"):
            for k in ("n", "us", "status", "cpu", "in", "out", "ein", "eout",
                      "machines"):
                if k in pairs:
                    pairs[k] = int(pairs[k])
            if what == "run":
                pairs["ok"] = pairs["ok"] == "yes"
                pairs["s"] = pairs.pop("us") / 1e6
                found["runs"].append(pairs)
            else:
                pairs["ok"] = int(pairs["ok"])
                found["many"].append(pairs)
    return found


def pick(runs, **wanted):
    return [r for r in runs if r["ok"] and
            all(r.get(k) == v for k, v in wanted.items())]


def middle(runs, key="s"):
    return statistics.median(r[key] for r in runs) if runs else None


def pairs(runs, others, key="s"):
    """Ratios of the rounds that both have."""
    by = {r["n"]: r[key] for r in others}
    return [r[key] / by[r["n"]] for r in runs if by.get(r["n"])]


def figure(row, job, what, value, bar=None, aim=None, least=False, more="",
           several=None):
    """One line of the table. least: at least the bar, else at most."""
    def reaches(limit):
        return value >= limit if least else value <= limit

    verdict = ""
    if value is None:
        verdict = "missing"
    elif bar is not None:
        verdict = "NOT met" if not reaches(bar) else \
            "aim" if aim is not None and reaches(aim) else "met"
    return {"row": row, "job": job, "what": what, "value": value, "bar": bar,
            "aim": aim, "least": least, "verdict": verdict, "more": more,
            "min": min(several) if several else None,
            "max": max(several) if several else None,
            "n": len(several) if several else 0}


def of_pairs(row, job, what, ratios, **more):
    return figure(row, job, what,
                  statistics.median(ratios) if ratios else None,
                  several=ratios, **more)


def seconds(*named):
    return ", ".join("%s %.2f s" % (name, middle(runs))
                     for name, runs in named if runs)


def row_a(runs, job):
    mine = [r for r in runs if r["row"] == "a" and r["job"] == job]
    arms = {a: pick(mine, arm=a) for a in ("direct", "floor", "trained",
                                           "second")}
    said = seconds(*((a, arms[a]) for a in ("second", "trained", "floor")))
    yield of_pairs("a", job, WHAT["second"],
                   pairs(arms["second"], arms["trained"]), bar=SECOND,
                   aim=SECOND_AIM, more=said)
    direct, second = middle(arms["direct"]), middle(arms["second"])
    if any(r["arm"] == "direct" for r in mine):
        yield figure("a", job, WHAT["direct"],
                     direct / second if direct and second else None,
                     bar=FASTER.get(job, FASTER_ELSE), least=True,
                     more=seconds(("direct", arms["direct"])))


def wire(r):
    return r["in"] + r["out"]


def row_b(found, job):
    mine = [r for r in found["runs"] if r["row"] == "b" and r["job"] == job]
    turns, once, sizes, count = [], [], [], 0
    for n in sorted({r["n"] for r in mine}):
        rounds = [r for r in mine if r["n"] == n]
        one = [wire(r) for r in rounds if r["arm"] == "1"]
        many = [m for m in found["many"] if m["job"] == job and m["n"] == n]
        if not one:
            continue
        count = max(count, len(rounds))
        sizes.append(one[0])
        turns.append(sum(map(wire, rounds)) / one[0])
        once += [wire(m) / one[0] for m in many]
    said = "one: %.1f MB" % (statistics.median(sizes) / 1e6) if sizes else ""
    for case, ratios in (("turns", turns), ("once", once)):
        yield of_pairs("b", job, WHAT[case] % count, ratios, bar=BYTES,
                       aim=BYTES_AIM, more=said if case == "turns" else "")


def row_c(runs, job):
    mine = [r for r in runs if r["row"] == "c" and r["job"] == job]
    farm, alone = pick(mine, arm="farm"), pick(mine, arm="alone")
    yield of_pairs("c", job, WHAT["unknown"], pairs(farm, alone), bar=UNKNOWN,
                   more=seconds(("farm", farm), ("without", alone)))


def row_d(runs, job):
    mine = [r for r in runs if r["row"] == "d" and r["job"] == job]
    one = pick(mine, case="one", arm="alone")
    for case, what in FAULTS.items():
        if not any(r["case"] == case for r in mine):
            continue
        farm = pick(mine, case=case, arm="farm")
        alone = pick(mine, case=case, arm="alone") or one
        late = sum(1 for r in farm if r["hit"] == "no")
        said = seconds(("farm", farm), ("without", alone))
        if late:
            said += "; %d ended before the fault" % late
        yield of_pairs("d", job, what + ", to none", pairs(farm, alone),
                       bar=FAULT, more=said)


def row_e(runs, job):
    """Ratios of the rounds that both have; and the medians."""
    for what, row, arm in (("cpu-take", "a", "second"),
                           ("cpu-publish", "c", "farm")):
        farm = pick(runs, row=row, job=job, arm=arm)
        alone = pick(runs, row=row, job=job, arm="alone")
        yield of_pairs("e", job, WHAT[what], pairs(farm, alone, "cpu"), more=(
            "farm %.2f s, without %.2f s" % (
                middle(farm, "cpu") / 1e6, middle(alone, "cpu") / 1e6)
            if farm and alone else ""))


def row_f(keys):
    if not keys:
        yield figure("f", "-", "keys in the engine", None)
        return
    yield figure("f", "-", "bytes of memory a key, beside its value",
                 keys["beside-value"], more="%d keys of 44 bytes, values of "
                 "%d" % (keys["count"], keys["small-value"]))
    for name in (k for k in keys if k.startswith("value-")):
        yield figure("f", "-", "bytes of memory, a value of %siB, sealed" %
                     name[len("value-"):], keys[name])
    for name, what in (("old", "old, not used since"),
                       ("read", "old, read lately"), ("new", "new"),
                       ("last", "what filled it")):
        if "kept-" + name in keys:
            yield figure("f", "-", "share kept when it is full: " + what,
                         keys["kept-" + name])


def figures(found, rows):
    runs = found["runs"]
    jobs = list(dict.fromkeys(r["job"] for r in runs if r["row"] in "abcd"))
    makers = {"a": lambda j: row_a(runs, j), "b": lambda j: row_b(found, j),
              "c": lambda j: row_c(runs, j), "d": lambda j: row_d(runs, j),
              "e": lambda j: row_e(runs, j)}
    out = [f for row in rows if row in makers for j in jobs
           for f in makers[row](j)]
    return out + (list(row_f(found["keys"])) if "f" in rows else [])


def problems(found, table):
    out = []
    wrong = [r for r in found["runs"] if not r["ok"]]
    for r in wrong:
        out.append("%s, %s, %s %s %d: WRONG: output or exit status %d" % (
            r["row"], r["job"], r["case"], r["arm"], r["n"], r["status"]))
    for m in found["many"]:
        if m["ok"] != m["machines"]:
            out.append("b, %s, at once: %d of %d machines WRONG" % (
                m["job"], m["machines"] - m["ok"], m["machines"]))
    for job in {r["job"] for r in found["runs"]}:
        floor = middle(pick(found["runs"], job=job, arm="floor"))
        for r in pick(found["runs"], job=job):
            if floor and r["s"] < TOO_FAST * floor:
                out.append("%s, %s, %s %d: too fast, %.2f s" % (
                    r["row"], job, r["arm"], r["n"], r["s"]))
    out += ["%s, %s: %s: missing" % (f["row"], f["job"], f["what"])
            for f in table if f["verdict"] == "missing"]
    if not found["done"]:
        out.append("it ended before it was done")
    return out


def limit(f, value):
    if value is None:
        return "-"
    return ("≥ %g" if f["least"] else "≤ %g") % value


def number(value):
    return "-" if value is None else "%.0f" % value if value >= 1000 else \
        "%.1f" % value if value >= 100 else "%.2f" % value


def show(result, out):
    if result["farm"] is False:
        print("This build has no farms: no machine shares anything.", file=out)
    lines = [("", "job", "what", "value", "least", "most", "bar", "aim", "",
              "")]
    for f in result["rows"]:
        wide = f["n"] > 1
        lines.append((f["row"], f["job"], f["what"], number(f["value"]),
                      number(f["min"]) if wide else "",
                      number(f["max"]) if wide else "", limit(f, f["bar"]),
                      limit(f, f["aim"]), f["verdict"], f["more"]))
    widths = [max(len(line[i]) for line in lines) for i in range(9)]
    for line in lines:
        print("  ".join([c.rjust(w) if 3 <= i <= 5 else c.ljust(w)
                         for i, (c, w) in enumerate(zip(line, widths))] +
                        [line[9]]).rstrip(), file=out)
    for m in result["missed"]:
        print("MISSED: " + m, file=out)


def make(found, rows, title):
    table = figures(found, rows)
    missed = ["%s, %s: %s: %s, the bar is %s" % (
        f["row"], f["job"], f["what"], number(f["value"]),
        limit(f, f["bar"])) for f in table if f["verdict"] == "NOT met"]
    return {"title": title,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "farm": found["farm"], "rows": table, "runs": found["runs"],
            "many": found["many"], "keys": found["keys"], "missed": missed,
            "problems": problems(found, table)}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--save", metavar="FILE")
    p.add_argument("--rows", required=True)
    p.add_argument("--title", default="")
    p.add_argument("lines")
    args = p.parse_args()
    with open(args.lines) as f:
        found = parse(f)
    result = make(found, args.rows.split(","), args.title)
    if args.save:
        with open(args.save, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    show(result, sys.stdout)
    for problem in result["problems"]:
        print("farm: " + problem, file=sys.stderr)
    return 1 if result["problems"] or result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
