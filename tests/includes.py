#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dependencies run one way: fails where an include goes up, or across.

A file may include headers of its own layer and of those listed before it.
nfsproto and predictor know nothing of proxy, nor of each other.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# proxy/, from the ground up; a name stands for NAME.[ch].
LAYERS = [
    "clock fileio log loopwatch netmatch histogram notify portowner reclaim",
    "config config_key config_parse config_text config_value metrics",
    "room xprt dial listens statedir rpcbind netwatch iopool slab credtab metafile linkest",
    "budget",
    "portmap upstream upstream_conn datacache datacache_private "
    "datacache_ahead datacache_evict datacache_hang datacache_index datacache_layout datacache_load datacache_pin "
    "datacache_read datacache_sum "
    "datacache_segment datacache_tomb datacache_write reftab mounttab linkkeep",
    "attrcache",
    "contract",
    "accesscache answercache listcache namecache",
    "caches",
    "learn learn_change learn_private metapack metaload",
    "metasave",
    "cachehome resolve drc fetch",
    "observe",
    "prefetch prefetch_cred prefetch_dir prefetch_flight prefetch_habit prefetch_list prefetch_note prefetch_pattern prefetch_private "
    "prefetch_save prefetch_session prefetch_step prefetch_want",
    "compact exports linkwatch",
    "user",
    "explain objnames tracer warm warm_flight warm_private warm_step",
    "hint hint_private hint_reader hint_step",
    "pins pins_file pins_private",
    "svc svc_join svc_pieces svc_reply svc_rqst postcheck nfs3_proc mount3_proc "
    "cached cached_list cached_private cached_read payload payload_copy",
    "conn",
    "control control_listen control_reply control_reply_compact control_reply_hint "
    "control_reply_pin control_reply_place "
    "control_reply_private control_reply_status control_reply_trace "
    "control_reply_trees control_reply_trees_export control_reply_trees_look control_reply_trees_private "
    "control_status metrics_http",
    "server server_caches server_prefetch",
    "daemon",
    "main",
]
# forefetch is a program of its own; control.h has the limits of messages.
CTL = re.compile(r"ctl_\w+")
CTL_MAY = {"control"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def includes(path):
    return [Path(name) for name in INCLUDE.findall(path.read_text())]


def own_headers(folder):
    names = {p.name for p in (ROOT / folder).glob("*.h")}
    return names | {p.stem + ".h" for p in (ROOT / folder).glob("*.x")}


def check_closed(folder, others):
    """`folder` includes nothing of the other folders."""
    foreign = set().union(*(own_headers(o) for o in others))
    foreign -= own_headers(folder)
    for path in sorted((ROOT / folder).glob("*.[chx]")):
        for inc in includes(path):
            if inc.name in foreign:
                yield f"{folder}/{path.name} includes {inc}"


def check_proxy():
    layer = {n: i for i, names in enumerate(LAYERS) for n in names.split()}
    headers = own_headers("proxy")
    for path in sorted((ROOT / "proxy").glob("*.[ch]")):
        ctl = CTL.fullmatch(path.stem)
        if not ctl and path.stem not in layer:
            yield f"proxy/{path.name} has no layer in tests/includes.py"
            continue
        for inc in includes(path):
            if inc.name not in headers:
                continue
            if ctl:
                if not CTL.fullmatch(inc.stem) and inc.stem not in CTL_MAY:
                    yield f"proxy/{path.name} includes {inc}"
            elif layer.get(inc.stem, len(LAYERS)) > layer[path.stem]:
                yield f"proxy/{path.name} includes {inc}, a layer above it"


def check_hint():
    """The library has but what forefetch has, too."""
    headers = own_headers("proxy")
    for path in sorted((ROOT / "hint").glob("*.[ch]")):
        for inc in includes(path):
            if inc.name in headers and not CTL.fullmatch(inc.stem):
                yield f"hint/{path.name} includes {inc}"


def main():
    bad = list(check_closed("nfsproto", ["proxy", "predictor"]))
    bad += check_closed("predictor", ["proxy", "nfsproto"])
    bad += check_proxy()
    bad += check_hint()
    for line in bad:
        print(line)
    print(f"includes: {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
