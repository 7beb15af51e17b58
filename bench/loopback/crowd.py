#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of `bench/loopback/run --crowd`.

make DIR FILES              empty files, a thousand to a directory
walk HOST PORT MOUNTPORT EXPORT
                            lists all of them once, names and attributes; prints
                            how many there were, and the seconds
report DIRECTORY JSON CHECK DIRECTORY has ARM.N.json of nfsload, and walks' logs;
                            exit status 1 with CHECK where the aim is missed

Arms: alone; apart, while somebody walks through the server itself and so takes
processor time only; beside, while somebody walks through the proxy.
"""
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tests/hostile"))
import rpc # noqa: E402

PER, PAGE, AIM = 1000, 1 << 17, 2
ARMS = "alone", "apart", "beside"


def make(top, files):
    for i in range(int(files)):
        where = "%s/%05d" % (top, i // PER)
        if i % PER == 0:
            os.makedirs(where)
        os.close(os.open("%s/%03d" % (where, i % PER),
                         os.O_CREAT | os.O_WRONLY))


def page(client, fh, cookie):
    """Entries (name, cookie, handle or None), and whether it was the last."""
    _, r = client.nfs(rpc.READDIRPLUS, rpc.readdirplus_args(
        fh, cookie, PAGE, PAGE), cred=rpc.auth_sys(uid=0, gid=0))
    if r.u32():
        r.fixed(84)
    r.fixed(8)
    found = []
    while r.u32():
        r.u64()
        name, at = r.opaque(), r.u64()
        if r.u32():
            r.fixed(84)
        found.append((name, at, r.opaque() if r.u32() else None))
    return found, bool(r.u32())


def listing(client, fh):
    cookie, last = 0, False
    while not last:
        found, last = page(client, fh, cookie)
        if not found:
            return
        cookie = found[-1][1]
        yield from found


def walk(host, port, mountport, export):
    mount = rpc.Client(int(mountport), host=host)
    r = rpc.Reader(mount.call(rpc.MNT, rpc.opaque(export),
                              prog=rpc.MOUNT).body)
    if r.u32() != 0:
        sys.exit("crowd: no mount of %s" % export)
    root = r.opaque()
    client = rpc.Client(int(port), host=host, timeout=60)
    begin, n = time.monotonic(), 0
    for name, _, fh in listing(client, root):
        if fh and name.isdigit():
            n += sum(1 for _ in listing(client, fh)) - 2
    print(n, "%.1f" % (time.monotonic() - begin), flush=True)


def rows(where, kind):
    for name in sorted(os.listdir(where)):
        if name.startswith(kind + ".") and name.endswith(".json"):
            with open(os.path.join(where, name)) as f:
                yield json.load(f)[0]


def ratio(of, to):
    return [a["p99_us"] / b["p99_us"] for a, b in zip(of, to)]


def walked(where, arm):
    with open(os.path.join(where, arm + ".log")) as f:
        files, seconds = f.read().split()
    return {"files": int(files), "seconds": float(seconds)}


def summary(where):
    arms = {arm: list(rows(where, arm)) for arm in ARMS}
    result = {"errors": sum(r["errors"] for a in arms.values() for r in a),
              "walks": {arm: walked(where, arm) for arm in ARMS[1:]}}
    for arm, found in arms.items():
        result[arm] = {key: statistics.median(r[key] for r in found) for key in
                       ("ops_per_s", "p50_us", "p99_us", "max_us")}
    for to in ARMS[:2]:
        pairs = ratio(arms["beside"], arms[to])
        result["p99_to_" + to] = {"median": statistics.median(pairs),
                                  "min": min(pairs), "max": max(pairs)}
    return result


def print_table(result):
    print("%-8s%12s%10s%10s%10s%22s" % (
        "", "calls/s", "p50 us", "p99 us", "max us", "walked"))
    for arm in ARMS:
        r, walk = result[arm], result["walks"].get(arm)
        print("%-8s%12.0f%10.0f%10.0f%10.0f%22s" % (
            arm, r["ops_per_s"], r["p50_us"], r["p99_us"], r["max_us"],
            "%(files)d in %(seconds).1f s" % walk if walk else "-"))
    for to in ARMS[:2]:
        print("p99 beside the walk, of that %s: %.2f (%.2f to %.2f)" % (
            to, *(result["p99_to_" + to][k] for k in ("median", "min",
                                                      "max"))))


def report(where, as_json, check):
    result = summary(where)
    if as_json == "yes":
        print(json.dumps(result, indent=1))
    else:
        print_table(result)
    missed = result["errors"] or result["p99_to_alone"]["median"] > AIM
    return 1 if missed and check == "yes" else 0


PARTS = {"make": make, "walk": walk, "report": report}
sys.exit(PARTS[sys.argv[1]](*sys.argv[2:]))
