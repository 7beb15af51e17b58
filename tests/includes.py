#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dependencies run one way: fails where an #include breaks the table below.

A folder may include headers of the folders that its row names, and its own.
What a header's name calls private, or PRIVATE lists, is for its folder alone.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# folder: what it may include, from the ground up; an arrow never points up.
ARROWS = {
    "hashing": "",  # where keys go in hash tables
    "nfsproto": "",

    "predictor": "",  # predictor.h
    "predictor/store": "hashing predictor",
    "predictor/pattern": "predictor predictor/store",
    "predictor/sessions": "predictor predictor/store",
    "predictor/mention": "hashing predictor",
    "predictor/walk": "hashing",
    "predictor/core": "predictor predictor/store predictor/sessions",
    "predictor/persist": "predictor predictor/store predictor/core",
    "predictor/trace": "predictor predictor/store",
    "predictor/baselines": "predictor predictor/store",
    "predictor/sim": "predictor predictor/store predictor/trace predictor/baselines",
}
# proxy/ and cli/ have theirs where they are built.
ROW = re.compile(r"^folder_library\(([^\s)]+)([^)]*)\)", re.M)
for build in ("proxy/CMakeLists.txt", "cli/CMakeLists.txt"):
    ARROWS.update(ROW.findall((ROOT / build).read_text()))
ARROWS["hint"] = "cli/ctl proxy/control"

# Headers that only their folder includes, beside all NAME_private.h.
PRIVATE = {
    "predictor/core": "fit.h stream.h wall.h",  # core.h has all
    "predictor/baselines": "atree.h edges.h ids.h",
    "predictor/mention": "mention_place.h",
    "predictor/persist": "persist_format.h portable.h",
    "predictor/trace": "trace_format.h trace_line.h",
    "proxy/datacache": "datacache_dir.h datacache_disk.h datacache_index.h datacache_layout.h"
                       " datacache_request.h datacache_segment.h datacache_write.h datacache_batch.h",
    "proxy/config": "config_binds.h config_key.h config_parse.h config_value.h",
    "proxy/svc": "cached.h doubt.h exports.h svc_pieces.h svc_rqst.h",
    "proxy/prefetch/queue": "lane.h",
    "proxy/prefetch/sources": "kinds.h walks.h",
    "proxy/upstream": "upstream_conn.h",
    "proxy/engine": "redis_conn.h redis_reply.h",
}
# forefetch and the library know of control/ what goes over the socket, and of
# farm/ the file that has its key.
KNOWN = {
    "proxy/control": {"protocol.h", "control.pb-c.h"},
    "proxy/farm": {"seal.h"},
}
CLIENTS = {"hint", "proxy/text", "cli/ctl", "cli/ask", "cli/commands", "cli/mount", "cli/doctor", "cli/top",
           "cli/bench"}

GENERATED = {"nfsproto/nfs3.h", "nfsproto/mount3.h", "nfsproto/nfsacl3.h",
             "control/control.pb-c.h", "web/page_data.h",
             "predictor/persist/predictor.pb-c.h", "predictor/trace/trace.pb-c.h"}
INCLUDE = re.compile(r'^\s*%?#\s*include\s+"([^"]+)"', re.M)


def home(include):
    """The folder of an included header, or None where it is not there."""
    for prefix in ("", "proxy/", "cli/", "hint/"):
        path = Path(prefix + include)
        if (ROOT / path).exists() or include in GENERATED:
            if include.startswith(("control/", "web/")):
                return "proxy/" + include.split("/")[0]
            return str(path.parent)
    return None


def sources(folder):
    paths = (ROOT / folder).iterdir()
    return sorted(p for p in paths if p.suffix in (".c", ".h", ".x"))


def is_private(folder, name):
    return name.endswith("_private.h") or name in PRIVATE.get(folder, "").split()


def wrong(folder, include):
    """Why `folder` may not include it, or None."""
    other = home(include)
    name = Path(include).name
    if other is None:
        return "which is not there, or is named without its folder"
    if other == folder:
        return None
    if other not in ARROWS[folder].split():
        return "to which no arrow leads"
    if is_private(other, name):
        return "which is private to %s" % other
    if folder in CLIENTS and name not in KNOWN.get(other, {name}):
        return "which is the daemon's side"
    return None


def check_table():
    """No arrow may point to a folder that stands below in the table."""
    seen = set()
    for folder, arrows in ARROWS.items():
        for arrow in arrows.split():
            if arrow not in seen:
                yield "the table has an arrow up: %s to %s" % (folder, arrow)
        seen.add(folder)
    for base in ("hashing", "nfsproto", "predictor", "proxy", "cli", "hint"):
        for path in sorted((ROOT / base).rglob("*.[chx]")):
            if str(path.parent.relative_to(ROOT)) not in ARROWS:
                yield "%s is in no folder of the table" % path.relative_to(ROOT)


def check_includes():
    for folder in ARROWS:
        for path in sources(folder):
            for include in INCLUDE.findall(path.read_text()):
                why = wrong(folder, include)
                if why:
                    yield "%s includes %s, %s" % (path.relative_to(ROOT), include, why)


def check_used():
    """An arrow that nothing uses goes."""
    for folder, arrows in ARROWS.items():
        used = {home(i) for p in sources(folder) for i in INCLUDE.findall(p.read_text())}
        for arrow in arrows.split():
            if arrow not in used:
                yield "the table has an arrow that nothing uses: %s to %s" % (folder, arrow)


def main():
    bad = list(check_table()) + list(check_includes()) + list(check_used())
    for line in bad:
        print(line)
    print("includes: %d wrong" % len(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
