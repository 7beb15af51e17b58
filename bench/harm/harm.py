#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of bench/harm/run, and its report.

In the guest, at the top of the mount:
  random DIR FILES COUNT SEED   4 KiB of COUNT files in a random order
  paced DIR SEED MS [STOP]      reads all files of DIR, by order SEED (0: the
                                order of training), one every MS milliseconds,
                                until the file STOP is there
  read DIR                      reads all files of DIR
  ls DIR FROM COUNT STOP        lists COUNT directories or until STOP is there;
                                prints the calls that took, and microseconds
make-random, make-find, make-names, make-reader, make-ls: their files, in the
export.

report ROWS RTT RATE JSON SAVE: ROWS is what guest.sh prints (its head has the
format).  Exit status 1 where an aim is missed or figures are missing.
"""
import hashlib
import json
import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "lab"))
from units import bytes_a_second, seconds  # noqa: E402

NFS3 = """NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR
SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO
PATHCONF COMMIT""".split()
LS_FILES = 3
WRONG_FILES, WRONG_BYTES = 200, 4096
BIG_FILES, BIG_BYTES = 2, 2 << 20
BUILD_FILES = 400


# ---- files ------------------------------------------------------------------

def put(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, data)
    os.close(fd)


def random_path(top, i):
    return "%s/%d/%d" % (top, i // 500, i)


def make_random(top, count):
    data = random.Random(1).randbytes(4096)
    for i in range(count):
        if i % 500 == 0:
            os.makedirs("%s/%d" % (top, i // 500))
        put(random_path(top, i), data)


def make_find(top, count):
    for i in range(count):
        if i % 250 == 0:
            d = "%s/%02d/%d" % (top, i // 5000, i // 250)
            os.makedirs(d)
        os.close(os.open("%s/file-%d" % (d, i), os.O_WRONLY | os.O_CREAT))


def make_names(top, count):
    os.makedirs(top)
    for i in range(count):
        os.close(os.open("%s/%s" % (top, hashlib.sha1(b"%d" % i).hexdigest()),
                         os.O_WRONLY | os.O_CREAT))


def make_reader(export):
    rng = random.Random(2)
    os.makedirs(export + "/wrong")
    os.makedirs(export + "/big")
    for i in range(WRONG_FILES):
        put("%s/wrong/%d" % (export, i), rng.randbytes(WRONG_BYTES))
    for i in range(BIG_FILES):
        put("%s/big/%d" % (export, i), rng.randbytes(BIG_BYTES))


def ls_path(top, i):
    """No order of the names leads from one to the next."""
    return top + "/" + hashlib.sha1(b"%d" % i).hexdigest()[:8]


def make_ls(export, count):
    rng = random.Random(3)
    for d in ["ls", "build"]:
        os.makedirs("%s/%s" % (export, d))
    for i in range(count):
        d = ls_path(export + "/ls", i)
        os.mkdir(d)
        for k in range(LS_FILES):
            put("%s/%d" % (d, k), b"x")
    for i in range(20):
        os.makedirs("%s/build/%d" % (export, i))
    for i in range(BUILD_FILES):
        put("%s/build/%d/%d.h" % (export, i % 20, i),
            rng.randbytes(rng.randrange(1000, 15000)))


# ---- jobs -------------------------------------------------------------------

def random_reads(top, files, count, seed):
    rng = random.Random(seed)
    for i in rng.sample(range(files), count):
        with open(random_path(top, i), "rb", buffering=0) as f:
            assert len(f.read(4096)) == 4096


def all_files(top):
    """From what is known beforehand: nothing is listed."""
    if top == "wrong":
        return ["wrong/%d" % i for i in range(WRONG_FILES)]
    return ["build/%d/%d.h" % (i % 20, i) for i in range(BUILD_FILES)]


def paced(top, seed, ms, stop):
    names = all_files(top)
    random.Random("%s order %d" % (top, seed)).shuffle(names)
    begin = time.monotonic()
    for n, name in enumerate(names):
        if stop and os.path.exists(stop):
            return
        time.sleep(max(0, begin + n * ms / 1000 - time.monotonic()))
        with open(name, "rb", buffering=0) as f:
            while f.read(1 << 17):
                pass


def read(top):
    for i in range(BIG_FILES):
        size = 0
        with open("%s/%d" % (top, i), "rb", buffering=0) as f:
            while True:
                part = f.read(1 << 17)
                if not part:
                    break
                size += len(part)
        assert size == BIG_BYTES


def client_calls():
    """Of the mount that the job works in."""
    here, total = False, 0
    for line in open("/proc/self/mountstats"):
        words = line.split()
        if line.startswith("device "):
            here = words[4] == os.getcwd()
        elif here and len(words) > 8 and words[0].endswith(":") and \
                words[0].isupper():
            total += int(words[1])
    return total


def ls(top, begin, count, stop):
    calls, times = client_calls(), []
    for i in range(begin, begin + count):
        if os.path.exists(stop):
            break
        t = time.monotonic()
        names = os.listdir(ls_path(top, i))
        times.append(round((time.monotonic() - t) * 1e6))
        assert len(names) == LS_FILES
        time.sleep(0.05)
    print(client_calls() - calls, *times)


# ---- the report -------------------------------------------------------------

def wire(record):
    """With headers of TCP, IP and Ethernet in segments of 1448."""
    return record + -(-record // 1448) * 66


def read_rows(path):
    runs, lists, counts, complete = [], [], {}, False
    for line in open(path):
        words = line.split()
        if words[0] == "run":
            runs.append({"case": words[1], "arm": words[2], "kind": words[3],
                         "n": int(words[4]), "s": int(words[5]) / 1e6})
        elif words[0] == "ls":
            lists.append({"arm": words[1], "kind": words[2],
                          "n": int(words[3]), "calls": int(words[4]),
                          "ms": [int(w) / 1000 for w in words[5:]]})
        elif words[0] == "count":
            _, case, arm, when, what = words[:5]
            rest = words[5:]
            value = json.loads(" ".join(rest))["servers"][0] \
                if what == "stats" else list(map(int, rest))
            at = counts.setdefault((case, arm), [])
            if when == "before" and what == "nfsd":
                at.append({"before": {}, "after": {}})
            at[-1][when][what] = value
        elif words[0] == "done":
            complete = True
    return runs, lists, counts, complete


def total(counts, skip):
    """Of the runs of one case and arm, without the first `skip`."""
    out = {"server_calls": 0, "link_bytes": 0, "calls": {}}
    names = ("prefetch_calls", "prefetch_bytes", "prefetch_used",
             "prefetch_late", "prefetch_unused", "prefetch_used_bytes",
             "prefetch_unused_bytes", "prefetch_unlikely")
    for c in counts[skip:]:
        if not c["after"]:
            continue
        out["server_calls"] += sum(c["after"]["nfsd"]) - \
            sum(c["before"]["nfsd"])
        for name, new, old in zip(NFS3, c["after"]["nfsd"],
                                  c["before"]["nfsd"]):
            out["calls"][name] = out["calls"].get(name, 0) + new - old
        out["link_bytes"] += c["after"]["link"][0] - c["before"]["link"][0]
        for name in names:
            out[name] = out.get(name, 0) + \
                c["after"]["stats"]["counters"].get(name, 0) - \
                c["before"]["stats"]["counters"].get(name, 0)
    # A daemon counts from its start; some cases start it for each run.
    out["flight_bytes_max"] = max(
        c["after"]["stats"]["gauges"].get("prefetch_flight_bytes_max", 0)
        for c in counts if c["after"])
    last = counts[-1]["after"] or counts[-1]["before"]
    for name in ("link_rate", "link_base_us", "prefetch_window_bytes"):
        out[name] = last["stats"]["gauges"].get(name, 0)
    return out


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def pairs_of(case, kind, runs):
    """Returns the pairs, the seconds of each arm's median, and the ratios."""
    found = {}
    for r in runs:
        if r["case"] == case and r["kind"] == kind:
            found.setdefault(r["n"], {})[r["arm"]] = r["s"]
    pairs = [p for p in found.values() if len(p) == 2]
    if not pairs:
        return None
    ratios = [p["on"] / p["off"] for p in pairs]
    return {"pairs": pairs, "ratios": ratios,
            "ratio": statistics.median(ratios),
            "on": statistics.median(p["on"] for p in pairs),
            "off": statistics.median(p["off"] for p in pairs)}


def case_result(case, runs, counts):
    timed = pairs_of(case, "timed", runs)
    if not timed:
        return None
    out = {"case": case, "pairs": timed["pairs"], "ratio": timed["ratio"],
           "ratios": timed["ratios"], "first": pairs_of(case, "first", runs)}
    for arm in ("on", "off"):
        skip = sum(1 for r in runs if r["case"] == case and r["arm"] == arm and
                   r["kind"] != "timed")
        out[arm] = total(counts[case, arm], skip)
        out[arm]["s"] = timed[arm]
    demand = max(1, out["off"]["link_bytes"])
    out["waste"] = out["on"]["prefetch_unused_bytes"] / demand
    out["extra"] = out["on"]["link_bytes"] / demand - 1
    return out


def ls_result(lists, runs, counts, unit_ms):
    def pick(arm, kind):
        mine = [r for r in lists if (r["arm"], r["kind"]) == (arm, kind)]
        ms = [t for r in mine for t in r["ms"]]
        if not ms:
            return None
        return {"n": len(ms), "median": statistics.median(ms),
                "p99": percentile(ms, 0.99), "max": max(ms),
                "calls": sum(r["calls"] for r in mine) / len(ms)}

    out = {"case": "ls", "idle": pick("on", "idle"), "load": pick("on", "load"),
           "off_load": pick("off", "load")}
    if not out["idle"] or not out["load"]:
        return None
    trips = out["idle"]["calls"]
    for name in ("median", "p99"):
        late = out["load"][name] - out["idle"][name]
        out[name + "_late_units"] = late / trips / unit_ms
    for arm in ("on", "off"):
        skip = sum(1 for r in runs if r["case"] == "ls" and r["arm"] == arm)
        out[arm] = total(counts["ls", arm], skip)
    return out


def flight_limit(c, rtt_s, rate_Bps, unit):
    """Rate by base round trip and one unit; the base as estimated, if that is
    about right, since the ends take their time too."""
    base_s = min(max(c["on"]["link_base_us"] / 1e6, rtt_s), 1.2 * rtt_s)
    return int(base_s * rate_Bps + wire(unit + 256))


def judge(cases, complete):
    missed = [] if complete else ["figures are missing: it was cut short"]
    for c in cases:
        if c["case"] == "ls":
            if c["median_late_units"] > 1:
                missed.append("ls: %.1f units a round trip later than idle, "
                              "median" % c["median_late_units"])
            if c["p99_late_units"] > 2:
                missed.append("ls: %.1f units a round trip later than idle, "
                              "p99" % c["p99_late_units"])
        elif c["ratio"] > 1.02:
            missed.append("%s: on takes %.3f of off" % (c["case"], c["ratio"]))
        if c.get("first") and c["first"]["ratio"] > 1.02:
            missed.append("%s, first: on takes %.3f of off" % (
                c["case"], c["first"]["ratio"]))
        if c["on"]["flight_bytes_max"] > c["flight_limit_bytes"]:
            missed.append("%s: %d bytes ahead in flight, %d allowed" % (
                c["case"], c["on"]["flight_bytes_max"],
                c["flight_limit_bytes"]))
    return missed


def print_pairs(name, on, off, at):
    print("%-8s %9.2f %9.2f %9.3f  %s" % (
        name, on, off, at["ratio"], " ".join("%.3f" % r for r in at["ratios"])))


def print_case(c):
    first = c["first"]
    print("\n%-8s %9s %9s %9s  %s" % (c["case"], "on s", "off s", "on/off",
                                      "of each pair"))
    print_pairs("", c["on"]["s"], c["off"]["s"], c)
    if first:
        print_pairs("  first", first["on"], first["off"], first)
    print("  waste: unused by its own count %.1f%% of what off brought; over "
          "the link came %+.1f%%" % (100 * c["waste"], 100 * c["extra"]))


def print_ls(c, unit_ms):
    print("\n%-8s %9s %9s %9s %9s %9s" % ("ls", "median ms", "p99 ms",
                                          "max ms", "calls", "n"))
    for name, key in (("idle", "idle"), ("on", "load"), ("off", "off_load")):
        r = c[key]
        if r:
            print("  %-6s %9.1f %9.1f %9.1f %9.1f %9d" % (
                name, r["median"], r["p99"], r["max"], r["calls"], r["n"]))
    print("  later than idle, a round trip: %.2f units of %.1f ms, median; "
          "%.2f, p99" % (c["median_late_units"], unit_ms,
                         c["p99_late_units"]))


def print_counts(c):
    on, off = c["on"], c["off"]
    for arm in ("on", "off"):
        calls = {n: k for n, k in c[arm]["calls"].items() if k > 0}
        print("  calls, %s: %s" % (arm, ", ".join(
            "%s %d" % (n, calls[n]) for n in sorted(calls))))
    print("  calls at the server: on %d (%d ahead), off %d; over the link: "
          "on %d, off %d bytes" % (
              on["server_calls"], on["prefetch_calls"], off["server_calls"],
              on["link_bytes"], off["link_bytes"]))
    print("  ahead: %d bytes, %d of them used, %d unused; objects: %d used, %d "
          "late, %d unused,\n  %d unlikely; in flight at most %d bytes "
          "(allowed: %d)" % (
              on["prefetch_bytes"], on["prefetch_used_bytes"],
              on["prefetch_unused_bytes"], on["prefetch_used"],
              on["prefetch_late"], on["prefetch_unused"],
              on["prefetch_unlikely"], on["flight_bytes_max"],
              c["flight_limit_bytes"]))
    print("  link: %d bytes/s, base %.1f ms; window %d bytes" % (
        on["link_rate"], on["link_base_us"] / 1000,
        on["prefetch_window_bytes"]))


def report(path, rtt, rate, as_json, save):
    rtt_s, rate_Bps = seconds(rtt), bytes_a_second(rate)
    unit = max(4096, int(0.005 * rate_Bps) // 4096 * 4096)
    unit_ms = wire(unit) / rate_Bps * 1000
    runs, lists, counts, complete = read_rows(path)
    cases = [case_result(c, runs, counts)
             for c in ("random", "find", "names", "reader")]
    cases.append(ls_result(lists, runs, counts, unit_ms))
    cases = [c for c in cases if c]
    for c in cases:
        c["flight_limit_bytes"] = flight_limit(c, rtt_s, rate_Bps, unit)
    missed = judge(cases, complete)
    result = {"rtt_s": rtt_s, "rate_Bps": rate_Bps, "unit_bytes": unit,
              "unit_ms": unit_ms, "cases": cases, "missed": missed,
              "runs": runs, "ls": lists}
    text = json.dumps(result, indent=1)
    if save:
        with open(save, "w") as f:
            f.write(text + "\n")
    if as_json == "yes":
        print(text)
    else:
        print("bench/harm/run at %s, %s" % (rtt, rate))
        for c in cases:
            if c["case"] == "ls":
                print_ls(c, unit_ms)
            else:
                print_case(c)
            print_counts(c)
        for m in missed:
            print("MISSED: " + m)
    return 1 if missed else 0


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "make-random":
        make_random(args[0], int(args[1]))
    elif what == "make-find":
        make_find(args[0], int(args[1]))
    elif what == "make-names":
        make_names(args[0], int(args[1]))
    elif what == "make-reader":
        make_reader(args[0])
    elif what == "make-ls":
        make_ls(args[0], int(args[1]))
    elif what == "random":
        random_reads(args[0], *map(int, args[1:4]))
    elif what == "paced":
        paced(args[0], int(args[1]), int(args[2]),
              args[3] if len(args) > 3 else None)
    elif what == "read":
        read(args[0])
    elif what == "ls":
        ls(args[0], int(args[1]), int(args[2]), args[3])
    elif what == "report":
        return report(*args)
    else:
        sys.exit(__doc__)
    return 0


sys.exit(main())
