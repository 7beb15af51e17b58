# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with directories of equal files, as many as one likes. Whoever
imports it has tests/hostile in sys.path."""
import fakeserver
import rpc
from rpc import opaque, u32, u64

PER = 4000 # names of a directory
SIZE = 600 # bytes of a file


def fh_dir(d):
    return b"dir-%07d" % d


def fh_file(d, i):
    return b"file-%05d-%07d-handle" % (d, i)


def fh_big(i):
    return b"big-%d" % i


def name_of(i):
    return b"name-%07d" % i


class Server(fakeserver.FakeServer):
    """Directories of equal files."""

    def __init__(self, dirs):
        self.dirs = dirs
        self.big, self.missed = [], 0 # names of large directories
        super().__init__()

    def serve(self, call):
        if call.prog == rpc.MOUNT:
            call.reply(self.plausible_mount(call))
            return
        call.reply({rpc.NULL: lambda c: b"", rpc.GETATTR: self.getattr,
                    rpc.ACCESS: self.access, rpc.READ: self.read,
                    rpc.LOOKUP: self.lookup, rpc.READDIRPLUS: self.list,
                    rpc.READDIR: self.list_big, rpc.PATHCONF: self.pathconf,
                    rpc.FSINFO: self.fsinfo}.get(
                        call.proc, lambda c: u32(10004, 0))(call))

    def fsinfo(self, call):
        return fakeserver.ANSWERS[rpc.FSINFO](self, call)

    def pathconf(self, call):
        return fakeserver.ANSWERS[rpc.PATHCONF](self, call)

    def list_big(self, call):
        r = call.reader()
        dir, cookie = r.opaque(), r.u64()
        names = self.big[int(dir[4:])]
        out = [u32(0), rpc.post_op(self.attr_of(dir)), b"\0" * 8]
        for i, name in enumerate(names[cookie:cookie + 20000], cookie + 1):
            out.append(u32(1) + u64(1000 + i) + opaque(name) + u64(i))
        return b"".join(out) + u32(0, int(cookie + 20000 >= len(names)))

    def attr_of(self, fh):
        if fh.startswith(b"big-"):
            return rpc.fattr(rpc.DIR, 500000 + int(fh[4:]))
        if fh == rpc.ROOT:
            return rpc.fattr(rpc.DIR, 2)
        if fh.startswith(b"dir-"):
            return rpc.fattr(rpc.DIR, 10 + int(fh[4:11]))
        return rpc.fattr(rpc.REG, 1000000 + int(fh[5:10]) * PER +
                         int(fh[11:18]), size=SIZE)

    def access(self, call):
        r = call.reader()
        fh = r.opaque()
        return u32(0, 1) + self.attr_of(fh) + u32(r.u32())

    def read(self, call):
        r = call.reader()
        attr = self.attr_of(r.opaque())
        offset, count = r.u64(), r.u32()
        n = max(min(count, SIZE - offset), 0)
        return u32(0, 1) + attr + u32(n, 1) + opaque(b"x" * n)

    def lookup(self, call):
        r = call.reader()
        dir, name = r.opaque(), r.opaque()
        if dir.startswith(b"big-"):
            self.missed += 1
            return u32(2, 1) + self.attr_of(dir)
        fh = (fh_dir(int(name[1:])) if dir == rpc.ROOT else
              fh_file(int(dir[4:11]), int(name[5:])))
        return rpc.lookup_ok(fh, self.attr_of(fh))

    def entries(self, dir):
        if dir == rpc.ROOT:
            return [(b"d%d" % d, fh_dir(d)) for d in range(self.dirs)]
        d = int(dir[4:11])
        return [(name_of(i), fh_file(d, i)) for i in range(PER)]

    def list(self, call):
        r = call.reader()
        dir, cookie = r.opaque(), r.u64()
        if dir.startswith(b"file"):
            return u32(20, 0)
        out = [u32(0), rpc.post_op(self.attr_of(dir)), b"\0" * 8]
        room = 900000
        for i, (name, fh) in enumerate(self.entries(dir)[cookie:], cookie + 1):
            e = (u32(1) + u64(1000 + i) + opaque(name) + u64(i) + u32(1) +
                 self.attr_of(fh) + u32(1) + opaque(fh))
            room -= len(e)
            if room < 0:
                return b"".join(out) + u32(0, 0)
            out.append(e)
        return b"".join(out) + u32(0, 1)
