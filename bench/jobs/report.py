#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table or JSON of bench/jobs/run: report.py [--json] [--save FILE] ROWS META.

ROWS is what bench/jobs/guest.sh printed (its head has the format), META a
JSON object to put in front.  Exit status 1 where a run differed from the
direct mount's, is impossibly fast, or is missing.
"""
import argparse
import json
import statistics
import sys

NFS3 = """NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR
SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO
PATHCONF COMMIT""".split()
SHOWN = ["LOOKUP", "GETATTR", "ACCESS", "READ"]
CHANGES = {"SETATTR", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD",
           "REMOVE", "RMDIR", "RENAME", "LINK", "COMMIT"}
WRITES = {"checkout", "editor", "andrew-copy"}
# Nobody knows which of the client's calls these passed on.
SILENT = {"sshfs", "ganesha", "rclone"}
TOO_FAST = 0.5          # of the floor: the job cannot have been done


def parse_count(words):
    what, rest = words[0], words[1:]
    if what == "nfsd":
        return what, dict(zip(NFS3, map(int, rest)))
    if what == "link":
        return what, {"in": int(rest[0]), "out": int(rest[1])}
    if what == "mount":
        return what, " ".join(rest)
    if what == "rss":
        return what, {"now": int(rest[0]), "most": int(rest[1])}
    if what in ("cpu", "server_cpu"):
        return what, int(rest[0])
    if what in ("client", "latency"):
        calls = {}
        for name, number in zip(rest[::2], rest[1::2]):
            calls[name] = calls.get(name, 0) + int(number)
        return what, calls
    return what, json.loads(" ".join(rest))["servers"][0]


def difference(old, new):
    if new is None:
        return {}
    if isinstance(new, dict):
        return {k: v - (old or {}).get(k, 0) for k, v in new.items()
                if v != (old or {}).get(k, 0)}
    return new - (old or 0)


def upstream(stats):
    """{PROCEDURE: (calls, bytes in)} of a `forefetch stats` of one server."""
    found = {}
    for c in stats["calls"]:
        if c["side"] == "upstream":
            name = c["procedure"]
            if c["program"] != "nfs":
                name = c["program"] + "." + name
            found[name] = (c["calls"], c["bytes_in"])
    return found


def finish_run(run, counts):
    def at(when, what):
        return counts.get(when, {}).get(what)

    last = "settled" if "settled" in counts else "after"
    run["server_calls"] = difference(at("before", "nfsd"), at(last, "nfsd"))
    run["server_calls_at_end"] = difference(at("before", "nfsd"),
                                            at("after", "nfsd"))
    link = difference(at("before", "link"), at(last, "link"))
    run["link_bytes_in"] = link.get("in", 0)
    run["link_bytes_out"] = link.get("out", 0)
    run["client_calls"] = difference(at("before", "client"),
                                     at("after", "client"))
    run["client_ms"] = difference(at("before", "latency"),
                                  at("after", "latency"))
    run["mount"] = at("before", "mount")
    run["server_cpu_s"] = difference(at("before", "server_cpu"),
                                     at("after", "server_cpu") or 0) / 1e6
    if at(last, "rss"):
        run["daemon_rss_kib"] = at(last, "rss")["now"]
        run["daemon_rss_max_kib"] = at(last, "rss")["most"]
    if at("after", "cpu") is not None:
        run["daemon_cpu_s"] = difference(at("before", "cpu"),
                                         at("after", "cpu")) / 1e6
        run["daemon_cpu_settled_s"] = difference(
            at("before", "cpu"), at(last, "cpu") or 0) / 1e6
    if at(last, "stats"):
        old, new = at("before", "stats"), at(last, "stats")
        was = upstream(old) if old else {}
        run["upstream_calls"], run["upstream_bytes_in"] = {}, 0
        run["upstream_read_bytes"] = 0
        for name, (calls, size) in upstream(new).items():
            before = was.get(name, (0, 0))
            if calls != before[0]:
                run["upstream_calls"][name] = calls - before[0]
            run["upstream_bytes_in"] += size - before[1]
            if name == "READ":
                run["upstream_read_bytes"] = size - before[1]
        # The daemon knows ten seconds later what it fetched in vain, when
        # somebody asks: so these are of all runs before this one.
        run["ahead_before"] = {
            k: (old or {}).get("counters", {}).get(k, 0)
            for k in ("prefetch_used", "prefetch_unused",
                      "prefetch_unused_bytes")}
        run["gauges"] = new.get("gauges")
        run["counters"] = difference(
            {k: v for k, v in (old or {}).get("counters", {}).items()
             if isinstance(v, int)},
            {k: v for k, v in new.get("counters", {}).items()
             if isinstance(v, int)})
    if "counters" in run:
        run["misses"] = sum(v for k, v in run["counters"].items()
                            if k.endswith("_misses"))
    elif run["arm"] not in SILENT:
        # Without a proxy each call goes to the server.
        run["misses"] = sum(run["client_calls"].values())
    run["wait_s"] = sum(run["client_ms"].values()) / 1e3
    return run


def read_rows(path):
    runs, run, counts, complete, missing = [], None, {}, False, {}
    for line in open(path, errors="surrogateescape"):
        words = line.split()
        if not words:
            continue
        if words[0] == "run":
            job, arm, kind, number, usec, status, verdict = words[1:8]
            run = {"job": job, "arm": arm, "kind": kind,
                   "number": int(number), "s": int(usec) / 1e6,
                   "status": int(status), "ok": verdict == "ok",
                   "user_s": float(words[8]), "system_s": float(words[9])}
            counts = {}
        elif words[0] in ("before", "after", "settled"):
            what, value = parse_count(words[1:])
            counts.setdefault(words[0], {})[what] = value
        elif words[0] == "end":
            runs.append(finish_run(run, counts))
        elif words[0] == "missing":
            missing[words[1]] = " ".join(words[2:])
        elif words[0] == "done":
            complete = True
    return runs, complete, missing


def spread(values):
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "n": len(values)}


def mean_calls(runs, key):
    total = {}
    for r in runs:
        for name, number in r.get(key, {}).items():
            total[name] = total.get(name, 0) + number
    return {k: round(v / len(runs), 1) for k, v in sorted(total.items())}


def mean(runs, key):
    values = [r[key] for r in runs if key in r]
    return statistics.mean(values) if values else None


def summarize(runs):
    """One object for each job and arm, in the order they came."""
    jobs, problems = [], []
    names = list(dict.fromkeys(r["job"] for r in runs))
    for job in names:
        mine = [r for r in runs if r["job"] == job]
        for r in mine:
            where = "%s, %s, %s %d" % (job, r["arm"], r["kind"], r["number"])
            if not r["ok"]:
                problems.append(where + ": output or status differ from the "
                                "direct mount's")
            if r["kind"] == "ref":
                changed = CHANGES & set(r["server_calls"])
                if changed and job not in WRITES:
                    problems.append("%s: the job writes (%s)" %
                                    (job, ", ".join(sorted(changed))))
                reads = r["server_calls"].get("READ", 0)
                if job == "git" and reads > 200:
                    problems.append("git: status reads files, %d READs: the "
                                    "index does not fit" % reads)
        timed = [r for r in mine if r["kind"] == "timed"]
        floor = spread([r["s"] for r in timed
                        if r["arm"] == "floor" and r["ok"]])
        for r in timed:
            if floor and r["ok"] and r["arm"] != "floor" and \
                    r["s"] < TOO_FAST * floor["median"]:
                r.update(ok=False, too_fast=True)
                problems.append(
                    "%s, %s, run %d: %.3f s is less than %.1f of the floor: "
                    "an error in the measurement" %
                    (job, r["arm"], r["number"], r["s"], TOO_FAST))
        jobs.append({"job": job, "arms": summarize_arms(mine, floor)})
    return jobs, problems


def summarize_arms(mine, floor):
    direct = spread([r["s"] for r in mine if r["kind"] == "timed" and
                     r["arm"] == "direct" and r["ok"]])
    # Bytes beside those of a client without a cache.
    wire = mean([r for r in mine if r["kind"] == "timed" and
                 r["arm"] == "direct" and r["ok"]], "link_bytes_in")
    arms = []
    for arm in dict.fromkeys(["floor", "direct"] + [r["arm"] for r in mine]):
        every = [r for r in mine if r["arm"] == arm and r["kind"] == "timed"]
        good = [r for r in every if r["ok"]]
        first = [r for r in mine if r["arm"] == arm and r["kind"] == "train"]
        if not every and not first:
            continue
        row = {"arm": arm, "wrong": len(every) - len(good),
               "s": spread([r["s"] for r in good]),
               "first_s": first[0]["s"] if first and first[0]["ok"] else None}
        if row["s"] and floor:
            row["times_floor"] = row["s"]["median"] / floor["median"]
        if good and wire:
            row["times_wire"] = mean(good, "link_bytes_in") / wire
        if row["s"] and direct:
            row["times_direct"] = row["s"]["median"] / direct["median"]
            row["speed_up"] = direct["median"] / row["s"]["median"]
        if good:
            for key in ("server_calls", "client_calls", "upstream_calls"):
                row[key] = mean_calls(good, key)
            for key in ("link_bytes_in", "upstream_bytes_in", "daemon_cpu_s",
                        "daemon_cpu_settled_s", "user_s", "system_s",
                        "misses", "wait_s"):
                row[key] = mean(good, key)
            read = first[0].get("upstream_read_bytes") if first else None
            if read:
                row["read_again"] = mean(good, "upstream_read_bytes") / read
        arms.append(row)
    return arms


def number(value, form="%.2f"):
    return "-" if value is None else form % value


def calls_cells(calls):
    cells = ["%d" % round(sum(calls.values()))]
    cells += ["%d" % round(calls.get(name, 0)) for name in SHOWN]
    return cells


def print_table(jobs, out):
    head = ["job", "arm", "median", "min", "max", "n", "first", "x floor",
            "faster", "misses", "wait s", "calls", "LOOKUP", "GETATTR",
            "ACCESS", "READ", "again", "MB in", "x wire", "cpu s"]
    rows = []
    for job in jobs:
        name = job["job"]
        for a in job["arms"]:
            s = a["s"] or {}
            row = [name, a["arm"]]
            row += [number(s.get(k), "%.2f") for k in ("median", "min", "max")]
            row += ["%d" % s.get("n", 0) + ("!" if a["wrong"] else ""),
                    number(a["first_s"]), number(a.get("times_floor")),
                    number(a.get("speed_up"), "%.1f"),
                    number(a.get("misses"), "%d"), number(a.get("wait_s"))]
            if a.get("server_calls") is not None:
                row += calls_cells(a["server_calls"])
                row += [number(a.get("read_again"), "%.3f"),
                        number(a["link_bytes_in"] / 1e6, "%.1f"),
                        number(a.get("times_wire")),
                        number(a.get("daemon_cpu_s"))]
            else:
                row += ["-"] * 9
            rows.append(row)
            name = ""
    width = [max(len(r[i]) for r in rows + [head]) for i in range(len(head))]
    for r in [head] + rows:
        cells = [r[0].ljust(width[0]), r[1].ljust(width[1])]
        cells += [c.rjust(w) for c, w in zip(r[2:], width[2:])]
        out.write(" ".join(cells).rstrip() + "\n")
    out.write(
        "\nmedian, min, max: seconds of the n timed runs; first: of the first "
        "run ever.\nx floor: median / floor's median; faster: direct's median "
        "/ median.\nmisses: calls of clients that were not answered from the "
        "caches; wait s: what\nthe kernel's client waited for all its calls."
        "\ncalls, by procedure: mean of what the server was asked; "
        "MB in: mean of all bytes\nthat came over the link; both include what "
        "was fetched after the job's end.\nagain: bytes of READs from the "
        "server, of those of the first run. cpu s: of the\ndaemon, while the "
        "job ran.\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--json", action="store_true")
    p.add_argument("--save")
    p.add_argument("rows")
    p.add_argument("meta")
    args = p.parse_args()
    runs, complete, missing = read_rows(args.rows)
    jobs, problems = summarize(runs)
    if not complete:
        problems.append("the run was cut short: some figures are missing")
    result = dict(json.load(open(args.meta)), complete=complete,
                  missing=missing, problems=problems, jobs=jobs, runs=runs)
    if args.save:
        with open(args.save, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        print(result["title"] + "\n")
        print_table(jobs, sys.stdout)
    for problem in problems:
        print("jobs: " + problem, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
