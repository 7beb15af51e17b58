#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of bench/hints/run, and its report.

In the guest:
  make EXPORT       the files
  read DIR COUNT SEED LOAD RATE HINT BUILD    at the top of the mount: reads
      COUNT blocks or files of DIR in an order of SEED, and thinks after each so
      long that the link of RATE is taken by LOAD percent (0: not at all). HINT
      is `none`, the socket of a daemon, or preload: and that. Prints its
      microseconds, bytes, reads, microseconds of thought, and SHA-256.

report ROWS RTT RATE JSON SAVE: ROWS is what guest.sh prints (its head has the
format).  Exit status 1 where an aim is missed or figures are missing.
"""
import hashlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "lab"))
from interval import t95  # noqa: E402
from units import bytes_a_second  # noqa: E402

BLOCK, BLOCKS = 65536, 1024
FILE, FILES, FILES_A_DIR = 16384, 3000, 100
FADVISE_AHEAD = 16
AIM, BOUND_AIM = 0.8, 1.1
ARMS = ("direct", "plain", "hints", "oracle")


# ---- files and the reader ---------------------------------------------------

def file_path(i):
    return "files/%02d/%s" % (i // FILES_A_DIR,
                              hashlib.sha1(b"%d" % i).hexdigest()[:8])


def make(export):
    rng = random.Random(1)
    os.mkdir(export + "/blocks")
    with open(export + "/blocks/large", "wb") as f:
        for _ in range(BLOCKS):
            f.write(rng.randbytes(BLOCK))
    for i in range(FILES):
        path = "%s/%s" % (export, file_path(i))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(rng.randbytes(FILE))


class Hinter:
    """Whoever says what comes next."""

    def __init__(self, how, build, lines):
        self.process = None
        if how == "none" or how.startswith("preload:"):
            return
        self.process = subprocess.Popen(
            [build + "/forefetch", "--socket", how, "--json", "hint", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        # No more than a pipe holds.
        self.process.stdin.write(lines.encode())
        self.process.stdin.close()

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def read_blocks(order, think_us, advise):
    total, sha = 0, hashlib.sha256()
    fd = os.open("blocks/large", os.O_RDONLY)
    # A reader at random says so, and the kernel reads nothing ahead.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for k, i in enumerate(order):
        if advise:
            ahead = order[k + 1:k + 1 + FADVISE_AHEAD] if k == 0 else \
                order[k + FADVISE_AHEAD:k + 1 + FADVISE_AHEAD]
            for a in ahead:
                os.posix_fadvise(fd, a * BLOCK, BLOCK, os.POSIX_FADV_WILLNEED)
        data = os.pread(fd, BLOCK, i * BLOCK)
        sha.update(data)
        total += len(data)
        time.sleep(think_us / 1e6)
    os.close(fd)
    return total, sha


def read_files(order, think_us):
    total, sha = 0, hashlib.sha256()
    for i in order:
        with open(file_path(i), "rb", buffering=0) as f:
            data = f.read(FILE + 1)
        sha.update(data)
        total += len(data)
        time.sleep(think_us / 1e6)
    return total, sha


def wire(payload):
    """With RPC and attributes, and headers of TCP, IP and Ethernet."""
    record = payload + 128
    return record + -(-record // 1448) * 66


def read(top, count, seed, load, rate, how, build):
    blocks = top == "blocks"
    order = random.Random("order " + seed).sample(
        range(BLOCKS if blocks else FILES), count)
    size = BLOCK if blocks else FILE
    think_us = 0
    if load:
        think_us = wire(size) / bytes_a_second(rate) / load * 1e8
    if how.startswith("preload:") and "LD_PRELOAD" not in os.environ:
        env = dict(os.environ, FOREFETCH_HINT_SOCKET=how[8:],
                   LD_PRELOAD=build + "/../hint/libforefetch_preload.so")
        os.execve(sys.executable, [sys.executable] + sys.argv, env)
    lines = "".join(
        "blocks/large %d %d\n" % (i * BLOCK, BLOCK) if blocks
        else file_path(i) + "\n" for i in order)
    begin = time.monotonic()
    hinter = Hinter(how, build, lines)
    if blocks:
        total, sha = read_blocks(order, think_us, "LD_PRELOAD" in os.environ)
    else:
        total, sha = read_files(order, think_us)
    us = (time.monotonic() - begin) * 1e6
    hinter.end()
    print("%d %d %d %d %s" % (us, total, count, think_us, sha.hexdigest()))


# ---- the report -------------------------------------------------------------

def interval(values):
    """Mean and half the width of its 95% interval."""
    if len(values) < 2:
        return statistics.mean(values), math.inf
    return (statistics.mean(values), t95(len(values)) *
            statistics.stdev(values) / math.sqrt(len(values)))


def read_rows(path):
    rounds, stats, complete = {}, {}, False
    for line in open(path):
        words = line.split()
        if words[0] == "run":
            case, arm, n = words[1], words[2], int(words[3])
            us, size, reads, think_us, link = map(int, words[4:9])
            rounds.setdefault(case, {}).setdefault(n, {})[arm] = {
                "s": us / 1e6, "bytes": size, "reads": reads,
                "think_s": think_us / 1e6, "link_bytes": link,
                "sha256": words[9]}
        elif words[0] == "stats":
            counters = json.loads(" ".join(words[4:]))["servers"][0]["counters"]
            stats.setdefault(words[1], {}).setdefault(words[2], []).append(
                {k: v for k, v in counters.items()
                 if k.startswith(("hints_", "prefetch_", "data_"))})
        elif words[0] == "done":
            complete = True
    return rounds, stats, complete


def case_result(case, rounds, rate_Bps):
    good = [r for _, r in sorted(rounds.items())
            if len(r) == 4 and len({a["sha256"] for a in r.values()}) == 1]
    out = {"case": case, "rounds": rounds, "good": len(good),
           "void": len(rounds) - len(good)}
    if not good:
        return out
    one = good[0]["plain"]
    wire_s = wire(one["bytes"] // one["reads"]) * one["reads"] / rate_Bps
    out.update(wire_s=wire_s, think_s=one["think_s"] * one["reads"],
               bytes=one["bytes"], reads=one["reads"])
    for arm in ARMS:
        out[arm] = interval([r[arm]["s"] for r in good])
        out[arm + "_link_bytes"] = statistics.mean(
            r[arm]["link_bytes"] for r in good)
    t = [[r[a]["s"] for a in ARMS] for r in good]
    out["gain_hints"] = interval([p - h for _, p, h, _ in t])
    out["gain_oracle"] = interval([p - o for _, p, _, o in t])
    out["share"] = interval([(p - h) / (p - o) for _, p, h, o in t])
    out["limit"] = interval([max(o, wire_s) for _, _, _, o in t])
    out["share_limit"] = interval(
        [(p - h) / (p - max(o, wire_s)) for _, p, h, o in t])
    return out


def judge(cases, complete):
    missed = [] if complete else ["the lab did not come to its end"]
    for c in cases:
        if c["void"]:
            missed.append("%s: %d rounds are void: what was read differs, or "
                          "runs are missing" % (c["case"], c["void"]))
        if "share" not in c:
            continue
        if c["case"] == "bound":
            if c["hints"][0] > c["plain"][0] * BOUND_AIM:
                missed.append("bound: %.2f of plain, the aim is %.2f" % (
                    c["hints"][0] / c["plain"][0], BOUND_AIM))
        elif c["share"][0] < AIM:
            missed.append("%s: %.0f%% of the gain, the aim is %.0f%%" % (
                c["case"], 100 * c["share"][0], 100 * AIM))
    return missed


def percent(pair):
    return "%.0f%% ± %.0f" % (100 * pair[0], 100 * pair[1])


def print_case(c):
    print("%s: %d reads, %.1f MB; thought %.2f s, on the link %.2f s; "
          "%d rounds" % (c["case"], c["reads"], c["bytes"] / 1e6,
                         c["think_s"], c["wire_s"], c["good"]))
    for arm in ARMS + ("limit",):
        mean, half = c[arm]
        print("  %-8s %7.3f s ± %.3f%s" % (
            arm, mean, half, "   max(oracle, link)" if arm == "limit" else
            "   link %.2f MB" % (c[arm + "_link_bytes"] / 1e6)))
    print("  gain of hints %.3f s ± %.3f, of the oracle %.3f s ± %.3f" % (
        c["gain_hints"] + c["gain_oracle"]))
    print("  share of the oracle's gain: %s; of what the link allows: %s" % (
        percent(c["share"]), percent(c["share_limit"])))


def report(path, rtt, rate, as_json, save):
    rounds, stats, complete = read_rows(path)
    cases = [case_result(c, r, bytes_a_second(rate))
             for c, r in rounds.items()]
    missed = judge(cases, complete)
    result = {"rtt": rtt, "rate": rate, "cases": cases, "stats": stats,
              "missed": missed}
    text = json.dumps(result, indent=1)
    if save:
        with open(save, "w") as f:
            f.write(text + "\n")
    if as_json == "yes":
        print(text)
    else:
        print("bench/hints/run at %s, %s; mean ± half of the 95%% interval" % (
            rtt, rate))
        for c in cases:
            if "share" in c:
                print_case(c)
        for m in missed:
            print("MISSED: " + m)
    return 1 if missed else 0


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "make":
        make(args[0])
    elif what == "read":
        read(args[0], int(args[1]), args[2], int(args[3]), *args[4:7])
    elif what == "report":
        return report(*args)
    else:
        sys.exit(__doc__)
    return 0


sys.exit(main())
