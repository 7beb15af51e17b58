# SPDX-License-Identifier: GPL-2.0-or-later
"""The NFS calls of a capture: what was asked, of which name, how long it took."""
import collections
import os
import re
import subprocess
import sys

PROCS = """NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR
SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO
PATHCONF COMMIT""".split()
FIELDS = ("frame.time_epoch", "tcp.stream", "rpc.xid", "rpc.msgtyp",
          "rpc.procedure", "rpc.program", "nfs.name", "nfs.offset3",
          "nfs.fh.hash", "nfs.readdirplus.entry.name")


def decode(path):
    """Lists of the fields of the packets; a packet may carry several calls."""
    ports = ["-d", "tcp.port==2049,rpc"]
    for port in range(2100, 2108):
        ports += ["-d", "tcp.port==%d,rpc" % port]
    command = ["tshark", "-r", path, *ports, "-o",
               "nfs.file_name_snooping:TRUE", "-Y", "rpc", "-T", "fields",
               "-E", "separator=/t", "-E", "aggregator=\x1f"]
    for field in FIELDS:
        command += ["-e", field]
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=True).stdout
    except FileNotFoundError:
        sys.exit("waits: tshark is missing (Debian: tshark)")
    except subprocess.CalledProcessError as e:
        sys.exit("waits: tshark cannot read %s: %s" % (
            path, e.stderr.decode("utf-8", "replace").strip()))
    for line in out.decode("utf-8", "replace").splitlines():
        yield [part.split("\x1f") for part in line.split("\t")]


def learn(listed, handles, entries):
    """Names of a listing; `.` and `..` may have no handles."""
    if len(handles) != len(entries):
        entries = [name for name in entries if name not in (".", "..")]
    if len(handles) == len(entries):
        listed.update(pair for pair in zip(handles, entries)
                      if pair[1] not in (".", ".."))


def read_calls(packets):
    """(begin s, took s, procedure, name, offset) of NFS calls, in order.

    tshark knows the name of a handle from LOOKUPs; ours come from listings.
    """
    waiting, done, begin, listed = {}, [], None, {}
    for when, stream, xids, kinds, procs, progs, names, offset, handles, \
            entries in packets:
        at = float(when[0])
        begin = at if begin is None else begin
        for i, (xid, kind) in enumerate(zip(xids, kinds)):
            key = (stream[0], xid)
            if kind == "0":
                if i < len(progs) and progs[i] != "100003":
                    continue
                proc = PROCS[int(procs[i] or 0)] if i < len(procs) else "?"
                # Of several calls in one packet the names are not told apart.
                name = "/".join(names) or listed.get(handles[0], "") \
                    if len(xids) == 1 else "several"
                waiting[key] = (at - begin, proc, name, offset[0])
            elif key in waiting:
                if len(xids) == 1 and waiting[key][1] == "READDIRPLUS":
                    learn(listed, handles, entries)
                t, proc, name, where = waiting.pop(key)
                if proc == "LOOKUP" and not any(names):
                    name += " ?"
                done.append((t, at - begin - t, proc, name, where or "-"))
    return sorted(done)


def kind_of(name):
    base = name.rstrip(" ?").rsplit("/", 1)[-1]
    if name.endswith(" ?"):
        return "(absent)"
    ending = re.search(r"(?<=.)(\.[A-Za-z_]{1,6})(\.[0-9.]+)?$", base)
    return ending.group(1) if ending else "(no ending)"


def print_table(path, calls, over):
    sums = collections.defaultdict(lambda: [0, 0.0])
    for _, took, proc, name, offset in calls:
        if took < over:
            key = ("answered at once", "")
        elif proc == "READ" and offset not in ("0", "-"):
            key = ("READ further on", kind_of(name))
        else:
            key = (proc, kind_of(name))
        sums[key][0] += 1
        sums[key][1] += took
    end = max(t + took for t, took, *_ in calls)
    print("%s: %d calls in %.2f s" % (os.path.basename(path), len(calls), end))
    for (proc, kind), (n, s) in sorted(sums.items(), key=lambda x: -x[1][1]):
        if s >= end / 200:
            print("%8.2f s %6d  %-16s %s" % (s, n, proc, kind))
