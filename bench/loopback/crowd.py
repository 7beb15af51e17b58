#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of `bench/loopback/run --crowd`.

make DIR FILES              empty files, a thousand to a directory
walk HOST PORT MOUNTPORT EXPORT
                            lists all of them once, names and attributes; prints
                            how many there were, and the seconds
report DIRECTORY JSON CHECK DIRECTORY has alone.N.json and beside.N.json of
                            nfsload, and walk.log; exit status 1 with CHECK where
                            the aim is missed
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


def report(where, as_json, check):
    alone, beside = list(rows(where, "alone")), list(rows(where, "beside"))
    pairs = [b["p99_us"] / a["p99_us"] for a, b in zip(alone, beside)]
    with open(os.path.join(where, "walk.log")) as f:
        walked = f.read().split()
    result = {
        "pairs": len(pairs), "p99_ratio": statistics.median(pairs),
        "p99_ratio_min": min(pairs), "p99_ratio_max": max(pairs),
        "errors": sum(r["errors"] for r in alone + beside),
        "walked_files": int(walked[0]) if walked else None,
        "walked_s": float(walked[1]) if walked else None}
    for kind, found in ("alone", alone), ("beside", beside):
        for key in "ops_per_s", "p50_us", "p99_us", "max_us":
            result["%s_%s" % (kind, key)] = statistics.median(
                r[key] for r in found)
    if as_json == "yes":
        print(json.dumps(result, indent=1))
    else:
        print("%-8s%12s%10s%10s%10s" % ("", "calls/s", "p50 us", "p99 us",
                                        "max us"))
        for kind in "alone", "beside":
            print("%-8s%12.0f%10.0f%10.0f%10.0f" % (kind, *(
                result["%s_%s" % (kind, key)]
                for key in ("ops_per_s", "p50_us", "p99_us", "max_us"))))
        print("p99 beside the walk: %.2f times (%.2f to %.2f, %d pairs)" % (
            result["p99_ratio"], min(pairs), max(pairs), len(pairs)))
        print("walked: %s files in %s s" % (
            result["walked_files"], result["walked_s"]))
    missed = result["errors"] > 0 or result["p99_ratio"] > AIM
    return 1 if missed and check == "yes" else 0


PARTS = {"make": make, "walk": walk, "report": report}
sys.exit(PARTS[sys.argv[1]](*sys.argv[2:]))
