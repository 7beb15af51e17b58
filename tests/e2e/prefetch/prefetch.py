# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools of the test `prefetch`.

prefetch.py make DIR                 a tree of 122 files
prefetch.py job DIR [OPTION...]      stats and reads them in a fixed order, and
                                     prints what it found
    --until N        the first N files only
    --think SECONDS  after each file
    --progress FILE  how many are done
prefetch.py change DIR SEED          as others would, on the server
prefetch.py libraries DIR            reads *.py whole, and other files as mapped
                                     libraries are read
prefetch.py calls [JSON]             of `forefetch stats --json`: all calls to
                                     the server, those ahead, READ
prefetch.py relay PORT HOST:PORT LOG [PORT HOST:PORT LOG]...
                                     passes connections on, and appends
                                     `program procedure uid` of each call
"""
import argparse
import errno
import hashlib
import json
import os
import random
import socket
import struct
import sys
import threading
import time

DIRS, FILES = 6, 20
MOVED, MOVED_TO = "moved", "moved-away"


def names():
    """All the job asks for, in its order: what is there, what is absent, and
    what change() makes."""
    order = ["d%d/f%02d" % (d, f) for d in range(DIRS) for f in range(FILES)]
    order += ["%s/m%d" % (d, f) for d in (MOVED, MOVED_TO) for f in range(2)]
    order += ["d%d/absent%d" % (d, d) for d in range(DIRS)]
    order += ["d%d/new" % d for d in range(2)]
    random.Random(7).shuffle(order)
    return order


def is_read(name):
    return hashlib.sha1(name.encode()).digest()[0] % 2 == 0


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def make(top):
    rng = random.Random(1)
    for i, name in enumerate(names()):
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if "absent" in name or "new" in name or MOVED_TO in name:
            continue
        # Those of --until take one READ, however slow the link.
        sizes = (100, 3000, 9000, 30000) if i >= 40 else (100, 3000, 4000)
        write(path, rng.randbytes(rng.choice(sizes)))
    os.rmdir(os.path.join(top, MOVED_TO))


def describe(path, read):
    try:
        st = os.stat(path)
        line = "%o %d %d" % (st.st_mode, st.st_size, st.st_mtime_ns)
        if read:
            with open(path, "rb") as f:
                line += " " + hashlib.sha1(f.read()).hexdigest()
        return line
    except OSError as e:
        return errno.errorcode[e.errno]


def job(top, opt):
    for done, name in enumerate(names()[:opt.until], 1):
        print(name, describe(os.path.join(top, name), is_read(name)))
        if opt.progress:
            write(opt.progress + ".new", b"%d\n" % done)
            os.rename(opt.progress + ".new", opt.progress)
        time.sleep(opt.think)
    if not opt.until:
        for d in ["."] + ["d%d" % i for i in range(DIRS)]:
            print(d, *sorted(os.listdir(os.path.join(top, d))))


def change(top, seed):
    """About 5%: of equal size, of another, gone, come, and a directory that
    is called something else."""
    rng = random.Random(seed)
    there = [n for n in names() if n[0] == "d" and "absent" not in n and
             os.path.exists(os.path.join(top, n)) and "new" not in n]
    picked = rng.sample(there, 6)
    for name in picked[:3]:
        path = os.path.join(top, name)
        with open(path, "r+b") as f:
            f.write(rng.randbytes(os.stat(path).st_size))
    for name in picked[3:5]:
        write(os.path.join(top, name), rng.randbytes(rng.randrange(20000)))
    os.remove(os.path.join(top, picked[5]))
    write(os.path.join(top, "d%d/new" % rng.randrange(2)), rng.randbytes(500))
    old, new = MOVED, MOVED_TO
    if not os.path.exists(os.path.join(top, old)):
        old, new = new, old
    os.rename(os.path.join(top, old), os.path.join(top, new))


def libraries(where):
    """Reads sources whole, and libraries as those are mapped: the header, the
    end, then the rest."""
    for name in sorted(os.listdir(where)):
        with open(os.path.join(where, name), "rb", buffering=0) as f:
            if name.endswith(".py"):
                print(name, hashlib.sha256(f.read()).hexdigest())
                continue
            # READs as they are here, whichever way the kernel reads ahead.
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            size = os.fstat(f.fileno()).st_size
            sums = hashlib.sha256(os.pread(f.fileno(), 16384, 0))
            sums.update(os.pread(f.fileno(), 16384, size & ~16383))
            for at in range(16384, size, 131072):
                sums.update(os.pread(f.fileno(), 131072, at))
            print(name, sums.hexdigest())


def calls(stream):
    server = json.load(stream)["servers"][0]
    total, reads = 0, 0
    for c in server["calls"]:
        if c["side"] == "upstream" and c["program"] in ("nfs", "nfsacl"):
            total += c["calls"]
            reads += c["calls"] if c["procedure"] == "READ" else 0
    print(total, server["counters"]["prefetch_calls"], reads)


# ---- the relay --------------------------------------------------------------

def uid_of(call):
    """`program procedure uid` of an RPC call; RFC 5531 section 9, appendix A."""
    _, _, _, prog, _, proc, flavor, size = struct.unpack_from(">8I", call)
    uid = "-"
    if flavor == 1 and size >= 20:
        (machine,) = struct.unpack_from(">I", call, 36)
        (uid,) = struct.unpack_from(">I", call, 40 + machine + -machine % 4)
    return "%s %d %s\n" % (prog, proc, uid)


def records(data):
    """Cuts whole records off a bytearray."""
    while True:
        pos, record = 0, b""
        while True:
            if len(data) < pos + 4:
                return
            (mark,) = struct.unpack_from(">I", data, pos)
            size = mark & 0x7fffffff
            if len(data) < pos + 4 + size:
                return
            record += bytes(data[pos + 4:pos + 4 + size])
            pos += 4 + size
            if mark >> 31:
                break
        del data[:pos]
        yield record


def pump(source, sink, log):
    data = bytearray()
    try:
        while True:
            part = source.recv(1 << 16)
            if not part:
                break
            if log:
                data += part
                with open(log, "a") as f:
                    for record in records(data):
                        f.write(uid_of(record))
            sink.sendall(part)
    except OSError:
        pass
    for s in (source, sink):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(port, target, log):
    host, number = target.rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", int(port)))
    while True:
        near, _ = listener.accept()
        far = socket.create_connection((host, int(number)))
        for s in (near, far):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for pair in ((near, far, log), (far, near, None)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def relays(words):
    threads = [threading.Thread(target=relay, args=words[i:i + 3])
               for i in range(0, len(words), 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def main():
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "change":
        change(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "libraries":
        libraries(sys.argv[2])
    elif sys.argv[1] == "calls":
        calls(open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin)
    elif sys.argv[1] == "relay":
        relays(sys.argv[2:])
    elif sys.argv[1] == "job":
        p = argparse.ArgumentParser()
        p.add_argument("--until", type=int)
        p.add_argument("--think", type=float, default=0)
        p.add_argument("--progress")
        job(sys.argv[2], p.parse_args(sys.argv[3:]))
    else:
        sys.exit(__doc__)


main()
