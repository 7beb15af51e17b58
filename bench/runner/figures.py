# SPDX-License-Identifier: GPL-2.0-or-later
"""From records to figures: medians, intervals, rows, what got worse."""
import math
import statistics

import others

OURS = ("bounded", "frozen", "strict", "first-block", "first", "off")
NAMES = {
    "floor": "floor (NFSv3, no link)", "direct": "NFSv3",
    "nfs4": "NFSv4.2", "fscache": "NFSv3 + FS-Cache, warm", "sshfs": "sshfs",
    "ganesha": "nfs-ganesha as a proxy", "rclone": "rclone serve nfs",
    "off": "forefetch, prefetch off", "first": "forefetch, first block",
    "first-block": "forefetch, first block", "bounded": "forefetch",
    "frozen": "forefetch, frozen", "strict": "forefetch, strict",
}
ORDER = list(NAMES)
# These proxies do not tell which of the client's calls they passed on.
SILENT = ("ganesha", "rclone")
# A time of more than this factor of the direct mount's is worse, not noise.
WORSE = 1.02


def interval(values, level=0.95):
    """Median and its interval, free of any assumption on the distribution.

    The k-th smallest and k-th largest of n values enclose the median with a
    probability of 1 - 2 P(Binomial(n, 1/2) < k). Where even the extremes do
    not reach `level` (n < 6), they are given, with the confidence they have.
    """
    if not values:
        return None
    ordered, n = sorted(values), len(values)
    below, k, confidence = 0.0, 0, 0.0
    while k < n // 2:
        below += math.comb(n, k) * 0.5 ** n
        if k > 0 and 1 - 2 * below < level:
            break
        k += 1
        confidence = 1 - 2 * below
    k = max(k, 1)
    return {"median": statistics.median(ordered), "low": ordered[k - 1],
            "high": ordered[n - k], "confidence": max(0.0, confidence),
            "n": n}


def middle(runs, value):
    found = [value(r) for r in runs]
    found = [v for v in found if v is not None]
    return statistics.median(found) if found else None


def ratio(a, b):
    return a / b if a is not None and b else None


def down(new, old):
    """The share by which new is less than old."""
    r = ratio(new, old)
    return None if r is None else 1 - r


def counter(name):
    return lambda r: r["counters"].get(name, 0) if "counters" in r else None


def read_latency(run):
    calls = run.get("client_calls", {}).get("READ", 0)
    return run["client_ms"].get("READ", 0) / calls if calls else None


def io_wait(run):
    return max(0.0, run["s"] - run["user_s"] - run["system_s"])


def misses(call, name):
    """Calls that were not answered nearby: without a proxy, all are."""
    def value(run):
        if "counters" in run:
            return run["counters"].get(name, 0)
        return run.get("client_calls", {}).get(call, 0) \
            if run.get("client_calls") else None
    return value


def shared(used, unused):
    """Of both together, or None where there are none."""
    return used / (used + unused) if used is not None and (
        used + unused) else None


def is_wrong(run):
    """Did it print or return something else than on the direct mount? One that
    took less than half of the floor is not timed either, but not wrong."""
    return not run["ok"] and not run.get("too_fast")


def arm_row(record, job, arm, runs):
    """One row of a table: an arm that did a job, over its timed runs."""
    every = [r for r in runs if r["kind"] == "timed"]
    mine = [r for r in every if r["ok"]]
    first = [r for r in runs if r["kind"] == "train" and r["number"] == 1]
    row = {
        "experiment": record["experiment"], "cell": record["id"],
        "group": record["group"], "link": record["link"], "job": job,
        "arm": arm, "wrong": sum(1 for r in runs if is_wrong(r)),
        "too_fast": sum(1 for r in runs if r.get("too_fast")),
        "s": interval([r["s"] for r in mine]),
        "first_s": first[0]["s"] if first and first[0]["ok"] else None,
        "mount": next((r["mount"] for r in runs if r.get("mount")), None),
    }
    if not mine:
        return row
    row.update(
        read_ms=middle(mine, read_latency), io_s=middle(mine, io_wait),
        # The server's count is of NFSv3.
        calls=None if arm in ("nfs4", "sshfs", *SILENT) else middle(
            mine, lambda r: sum(r.get("server_calls", {}).values())),
        data_misses=None if arm in SILENT else middle(
            mine, misses("READ", "data_misses")),
        name_misses=None if arm in SILENT else middle(
            mine, misses("LOOKUP", "name_misses")),
        server_cpu_s=middle(mine, lambda r: r.get("server_cpu_s")),
        wait_s=middle(mine, lambda r: r.get("wait_s")),
        cpu_s=middle(mine, lambda r: r.get("daemon_cpu_s")),
        rss_kib=max((r["daemon_rss_max_kib"] for r in mine
                     if r.get("daemon_rss_max_kib")), default=None),
        bytes_in=middle(mine, lambda r: r.get("link_bytes_in")))
    row.update(ahead(every))
    return row


def ahead(runs):
    """Sums up what was fetched ahead in all timed runs but the last: how many
    objects were wanted, how many were not, and their bytes a run."""
    runs = [r for r in runs if "ahead_before" in r]
    if len(runs) < 2:
        return {"used_objects": 0, "unused_objects": 0, "unused": None}
    runs.sort(key=lambda r: r["number"])
    used, unused, size = (
        runs[-1]["ahead_before"][k] - runs[0]["ahead_before"][k]
        for k in ("prefetch_used", "prefetch_unused", "prefetch_unused_bytes"))
    if min(used, unused, size) < 0:     # the daemon began anew between them
        return {"used_objects": 0, "unused_objects": 0, "unused": None}
    return {"used_objects": used, "unused_objects": unused,
            "unused": size / (len(runs) - 1)}


def compare(rows):
    """Adds what is relative to the direct mount and the floor of the job."""
    by = {(r["cell"], r["job"], r["arm"]): r for r in rows}
    for r in rows:
        for name in ("direct", "floor"):
            other = by.get((r["cell"], r["job"], name))
            if other and other["s"] and r["s"]:
                r["times_" + name] = ratio(r["s"]["median"],
                                           other["s"]["median"])
                if name == "direct":
                    r["masked"] = down(r["io_s"], other["io_s"])
                    r["latency_down"] = down(r["wait_s"], other["wait_s"])
                    r["read_down"] = down(r["read_ms"], other["read_ms"])
    return rows


def job_runs(record):
    """(jobs result) of a record: filters has several, one for each rsize."""
    result = record.get("result")
    if not result:
        return []
    if record["kind"] == "jobs":
        return [result]
    if record["kind"] == "filters":
        return [part["jobs"] for part in result]
    return []


def rows_of(records):
    rows = []
    for record in records:
        for result in job_runs(record):
            mine = {}
            for run in result["runs"]:
                if run["kind"] != "ref":
                    mine.setdefault((run["job"], run["arm"]), []).append(run)
            found = [arm_row(record, job, arm, runs)
                     for (job, arm), runs in mine.items()]
            found.sort(key=lambda r: ORDER.index(r["arm"])
                       if r["arm"] in ORDER else 99)
            jobs = list(dict.fromkeys(r["job"] for r in result["runs"]))
            found.sort(key=lambda r: jobs.index(r["job"]))
            rows += compare(found)
    return rows


def pick(rows, **wanted):
    return [r for r in rows
            if all(r.get(k) in v if isinstance(v, (tuple, set, list)) else
                   r.get(k) == v for k, v in wanted.items())]


def one(rows, **wanted):
    found = pick(rows, **wanted)
    return found[0] if found else None


def missing_arms(records):
    found = {}
    for record in records:
        for result in job_runs(record):
            found.update(result.get("missing", {}))
    return found


def worse(records, rows):
    """Sentences on all that got worse, is wrong or did not run; worst first."""
    found = []
    for r in rows:
        if r["wrong"]:
            found.append((1000 + r["wrong"], "%s, %s, %s: %d runs WRONG: "
                          "output or exit status differ from the direct "
                          "mount's" % (r["cell"], r["job"], name(r["arm"]),
                                       r["wrong"])))
        if r["too_fast"]:
            found.append((0, "%s, %s, %s: %d runs took less than half of the "
                          "floor: an error of measurement, not timed" % (
                              r["cell"], r["job"], name(r["arm"]),
                              r["too_fast"])))
        times = r.get("times_direct")
        if r["arm"] in OURS and times and times > WORSE:
            found.append((times, "%s on %s, %s: %.2f × the time of the direct "
                          "mount (%.2f s)" % (
                              r["job"], r["link"], name(r["arm"]), times,
                              r["s"]["median"])))
        direct = one(rows, cell=r["cell"], job=r["job"], arm="direct")
        if r["arm"] in OURS and r["first_s"] and direct and direct["s"] and \
                r["first_s"] > WORSE * direct["s"]["median"]:
            times = r["first_s"] / direct["s"]["median"]
            found.append((times, "%s on %s, %s, first run ever: %.2f × the "
                          "direct mount (%.2f s)" % (
                              r["job"], r["link"], name(r["arm"]), times,
                              r["first_s"])))
    found += worse_elsewhere(records)
    for record in records:
        if record["outcome"] == "failed":
            found.append((2000, "%s FAILED: %s" % (
                record["id"], record["reason"])))
        if record["kind"] == "harm" and record["result"]:
            found += worse_harm(record["result"]["cases"])
    return [text for _, text in sorted(found, key=lambda f: -f[0])]


def worse_harm(cases):
    """Cases that prefetch makes slower, in later runs or in first ones."""
    found = []
    for case in cases:
        for what, at in ((case["case"], case),
                         (case["case"] + ", first run", case.get("first"))):
            if at and at.get("ratio", 0) > WORSE:
                found.append((at["ratio"], "harm, %s: prefetch on takes "
                              "%.3f × off" % (what, at["ratio"])))
    return found


def worse_elsewhere(records):
    """(how much, sentence) of what is not made of jobs."""
    for record in records:
        result = record["result"]
        for case in others.cases(record):
            times = case["on_s"] / case["off_s"]
            if times > WORSE:
                yield times, "%s, %s: %.2f × (%s)" % (
                    record["id"], case["case"], times, case["what"])
        if record["kind"] == "machines" and result:
            yield from ((1, "%s, NOT met: %s" % (record["id"], missed))
                        for missed in result["missed"])
        if record["kind"] == "million" and result:
            for key, what in (("first_s", "first"), ("again_s", "again")):
                times = result[key] / result["direct_s"]
                if times > WORSE:
                    yield times, "find over %d files on %s, %s: %.2f × the " \
                        "direct mount (%.1f s)" % (
                            result["files"], record["link"], what, times,
                            result[key])
        if record["kind"] == "load" and isinstance(result, list):
            for (count, target), share in load_shares(result).items():
                if share < 1 / WORSE:
                    yield 1 / share, "%s, %d connections, %s: %.2f × the " \
                        "calls a second of the server itself" % (
                            record["id"], count, target, share)


def load_shares(result):
    """{(connections, target): calls a second, of those of direct}."""
    total = {}
    for x in result:
        key = x["connections"], x["target"]
        total[key] = total.get(key, 0) + x["ops_per_s"]
    return {(count, target): rate / total[count, "direct"]
            for (count, target), rate in total.items()
            if target not in ("direct", "again") and
            total.get((count, "direct"))}


def name(arm):
    return NAMES.get(arm, arm)


def headline(rows):
    """Over today's jobs at wan: our trained default beside the others."""
    out = []
    for ours in pick(rows, link="wan", arm="bounded",
                     experiment=("headline", "today")):
        if not ours["s"]:
            continue
        line = {"job": ours["job"], "ours": ours, "cell": ours["cell"]}
        for arm in ("direct", "fscache", "floor"):
            other = one(rows, cell=ours["cell"], job=ours["job"], arm=arm)
            line[arm] = other if other and other["s"] else None
        out.append(line)
    # A job that both experiments have counts once, the first time.
    return list({line["job"]: line for line in reversed(out)}.values())[::-1]


def over_jobs(lines, arm):
    """Median over the jobs of arm's time by ours, or None; and of how many."""
    found = [line[arm]["s"]["median"] / line["ours"]["s"]["median"]
             for line in lines if line[arm]]
    return (statistics.median(found) if found else None), len(found)
