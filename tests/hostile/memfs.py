# SPDX-License-Identifier: GPL-2.0-or-later
"""A fake server with a file system in memory: what is changed there is changed,
ctimes move, and replies bring wcc_data, as a Linux server's do.

    fs = MemServer()
    fs.make("dir/name", rpc.REG, data=b"...", age=3600)   somebody else's doing
    fs.node("dir/name")                   the Node, or None
    fs.lose_reply(rpc.MKDIR)              done, but not answered
    fs.ignore(rpc.MKDIR)                  neither done nor answered

It has no reply cache: a change that is repeated is done again.
"""
import threading
import time

import fakeserver
import rpc
from rpc import opaque, post_op, u32, u64

NOTDIR, ISDIR, STALE, NOTEMPTY = 20, 21, 70, 66
GRAIN_NS = 4000000 # what Linux's timestamps move by


class Node:
    def __init__(self, kind, fileid, uid, mode, t, generation=0):
        self.kind, self.fileid, self.uid, self.mode = kind, fileid, uid, mode
        self.fh = b"fh-%06d-%06d" % (fileid, generation)
        self.nlink = 2 if kind == rpc.DIR else 1
        self.data, self.names = bytearray(), {}
        self.ctime = self.mtime = t

    def size(self):
        return 4096 if self.kind == rpc.DIR else len(self.data)

    def attr(self):
        return u32(self.kind, self.mode, self.nlink, self.uid, self.uid) + \
            u64(self.size(), self.size()) + u32(0, 0) + u64(1, self.fileid) + \
            b"".join(u32(*divmod(t, 10 ** 9))
                     for t in (self.mtime, self.mtime, self.ctime))

    def pre_op(self):
        return u32(1) + u64(self.size()) + u32(*divmod(self.mtime, 10 ** 9)) \
            + u32(*divmod(self.ctime, 10 ** 9))


class Failed(Exception):
    pass


class MemServer(fakeserver.FakeServer):
    def __init__(self):
        self.root = Node(rpc.DIR, 2, 0, 0o777, self.clock() - 7200 * 10 ** 9)
        self.root.fh = rpc.ROOT
        self.nodes = {rpc.ROOT: self.root}
        self.fileids = 100
        super().__init__()

    @staticmethod
    def clock():
        t = time.time_ns()
        return t - t % GRAIN_NS

    # ---- for tests

    def walk(self, path):
        """(directory, last name)"""
        at, names = self.root, path.split("/")
        for name in names[:-1]:
            at = at.names[name.encode()]
        return at, names[-1].encode()

    def node(self, path):
        at, name = self.walk(path)
        return at.names.get(name)

    def make(self, path, kind, data=b"", age=0, uid=1000, mode=0o644,
             fileid=None):
        """Made `age` seconds ago, by somebody else; `fileid`: in the place of
        what had that number before, as file systems do."""
        t = self.clock() - age * 10 ** 9
        at, name = self.walk(path)
        with self.cond:
            node = self.new_node(at, name, kind, uid, mode, t, fileid)
            node.data[:] = data
        return node

    def remove_path(self, path, age=0):
        at, name = self.walk(path)
        with self.cond:
            self.drop(at, name, self.clock() - age * 10 ** 9)

    def once(self, proc, fn):
        def script(call):
            self.script(proc, None)
            fn(call)
            return fakeserver.HOLD
        self.script(proc, script)

    def lose_reply(self, proc):
        self.once(proc, self.plausible)

    def ignore(self, proc):
        self.once(proc, lambda call: None)

    # ---- the file system

    def new_node(self, at, name, kind, uid, mode, t, fileid=None):
        self.fileids += 1
        node = Node(kind, fileid or self.fileids, uid, mode, t, self.fileids)
        self.nodes[node.fh] = node
        at.names[name] = node
        at.nlink += kind == rpc.DIR
        at.mtime = at.ctime = max(t, at.ctime)
        return node

    def drop(self, at, name, t):
        node = at.names.pop(name)
        node.nlink -= 2 if node.kind == rpc.DIR else 1
        at.nlink -= node.kind == rpc.DIR
        node.ctime = at.mtime = at.ctime = max(t, at.ctime)
        if node.nlink == 0:
            del self.nodes[node.fh]

    def at(self, fh, directory=False):
        node = self.nodes.get(fh)
        if not node:
            raise Failed(STALE)
        if directory and node.kind != rpc.DIR:
            raise Failed(NOTDIR)
        return node

    @staticmethod
    def of(call):
        r = rpc.Reader(call.cred[1])
        r.u32()
        r.opaque()
        return r.u32()

    def plausible(self, call):
        if call.prog != rpc.NFS or call.proc not in PROCS:
            return super().plausible(call)
        fn, tail = PROCS[call.proc]
        self.pre = []
        try:
            # By its name: a subclass may do it in another way.
            return getattr(self, fn.__name__)(call, call.reader())
        except Failed as e:
            # A failure brings this: wcc_data of what was looked at.
            out = b"".join(self.wcc(n, pre) for n, pre in self.pre)
            return u32(e.args[0]) + (out or tail)

    def watch(self, node):
        """This call may change it."""
        self.pre.append((node, node.pre_op()))
        return node

    def wcc(self, node, pre):
        return pre + post_op(node.attr())

    def wccs(self):
        return b"".join(self.wcc(n, pre) for n, pre in self.pre)

    def touch(self, node, data=False):
        node.ctime = max(self.clock(), node.ctime)
        if data:
            node.mtime = node.ctime

    # ---- procedures that change nothing

    def getattr(self, call, r):
        return u32(0) + self.at(r.opaque()).attr()

    def lookup(self, call, r):
        d = self.at(r.opaque(), True)
        node = d.names.get(r.opaque())
        if not node:
            return u32(rpc.NOENT) + post_op(d.attr())
        return u32(0) + opaque(node.fh) + post_op(node.attr()) + \
            post_op(d.attr())

    def access(self, call, r):
        return u32(0) + post_op(self.at(r.opaque()).attr()) + u32(r.u32())

    def readlink(self, call, r):
        node = self.at(r.opaque())
        return u32(0) + post_op(node.attr()) + opaque(bytes(node.data))

    def read(self, call, r):
        node = self.at(r.opaque())
        first, count = r.u64(), r.u32()
        data = bytes(node.data[first:first + count])
        eof = first + len(data) >= len(node.data)
        return u32(0) + post_op(node.attr()) + u32(len(data), eof) + \
            opaque(data)

    def entries(self, d):
        return [(b".", d), (b"..", self.root)] + sorted(d.names.items())

    def readdir(self, call, r, plus=False):
        d, cookie = self.at(r.opaque(), True), r.u64()
        out = u32(0) + post_op(d.attr()) + b"\0" * 8
        for n, (name, node) in enumerate(self.entries(d)):
            if n < cookie:
                continue
            out += u32(1) + u64(node.fileid) + opaque(name) + u64(n + 1)
            if plus:
                out += post_op(node.attr()) + u32(1) + opaque(node.fh)
        return out + u32(0, 1)

    def readdirplus(self, call, r):
        return self.readdir(call, r, True)

    def pathconf(self, call, r):
        return u32(0) + post_op(self.at(r.opaque()).attr()) + \
            u32(32000, 255, 1, 1, 0, 1)

    # ---- changes

    def setattr(self, call, r):
        node, asked = self.watch(self.at(r.opaque())), self.get_sattr(r)
        if r.u32() and (r.u32(), r.u32()) != divmod(node.ctime, 10 ** 9):
            raise Failed(rpc.NOT_SYNC)
        self.set(node, asked)
        return u32(0) + self.wccs()

    @staticmethod
    def get_sattr(r):
        out = {}
        for what in ("mode", "uid", "gid"):
            if r.u32():
                out[what] = r.u32()
        if r.u32():
            out["size"] = r.u64()
        for _ in ("atime", "mtime"):
            if r.u32() == 2:
                r.u64()
        return out

    def set(self, node, asked):
        node.mode = asked.get("mode", node.mode)
        node.uid = asked.get("uid", node.uid)
        if "size" in asked:
            del node.data[asked["size"]:]
            node.data.extend(bytes(asked["size"] - len(node.data)))
        self.touch(node, "size" in asked)

    def write(self, call, r):
        node, first = self.watch(self.at(r.opaque())), r.u64()
        count, _ = r.u32(), r.u32()
        node.data.extend(bytes(max(0, first - len(node.data))))
        node.data[first:first + count] = r.opaque()
        self.touch(node, True)
        return u32(0) + self.wccs() + u32(count, 2) + b"verifier"

    def new_name(self, call, r, kind):
        """The node that was made or found, and the results."""
        d, name = self.watch(self.at(r.opaque(), True)), r.opaque()
        there = d.names.get(name)
        mode = r.u32() if kind == rpc.REG else 1
        asked = self.get_sattr(r) if mode < 2 else {}
        if there and (mode or kind != there.kind):
            raise Failed(rpc.EXIST)
        node = there or self.new_node(
            d, name, kind, self.of(call), 0o755, self.clock())
        self.set(node, asked)
        return node, u32(0, 1) + opaque(node.fh) + post_op(node.attr()) + \
            self.wccs()

    def create(self, call, r):
        return self.new_name(call, r, rpc.REG)[1]

    def mkdir(self, call, r):
        return self.new_name(call, r, rpc.DIR)[1]

    def symlink(self, call, r):
        node, out = self.new_name(call, r, rpc.LNK)
        node.data[:] = r.opaque()
        return out[:28] + post_op(node.attr()) + self.wccs()

    def remove(self, call, r, directory=False):
        d, name = self.watch(self.at(r.opaque(), True)), r.opaque()
        node = d.names.get(name)
        if not node:
            raise Failed(rpc.NOENT)
        if directory != (node.kind == rpc.DIR):
            raise Failed(NOTDIR if directory else ISDIR)
        if node.names:
            raise Failed(NOTEMPTY)
        self.drop(d, name, self.clock())
        return u32(0) + self.wccs()

    def rmdir(self, call, r):
        return self.remove(call, r, True)

    def rename(self, call, r):
        d, old = self.watch(self.at(r.opaque(), True)), r.opaque()
        e, new = self.watch(self.at(r.opaque(), True)), r.opaque()
        node, there = d.names.get(old), e.names.get(new)
        if not node:
            raise Failed(rpc.NOENT)
        if there is not node:
            if there:
                self.drop(e, new, self.clock())
            e.names[new] = d.names.pop(old)
            for n in (node, d, e):
                self.touch(n, n is not node)
        return u32(0) + self.wccs()

    def link(self, call, r):
        node = self.at(r.opaque())
        d, name = self.watch(self.at(r.opaque(), True)), r.opaque()
        if name in d.names:
            self.pre = []
            return u32(rpc.EXIST) + post_op(node.attr()) + \
                self.wcc(d, d.pre_op())
        d.names[name] = node
        node.nlink += 1
        self.touch(node)
        self.touch(d, True)
        return u32(0) + post_op(node.attr()) + self.wccs()


NONE = u32(0)
PROCS = {
    rpc.GETATTR: (MemServer.getattr, b""),
    rpc.SETATTR: (MemServer.setattr, rpc.NO_WCC),
    rpc.LOOKUP: (MemServer.lookup, NONE),
    rpc.ACCESS: (MemServer.access, NONE),
    rpc.READLINK: (MemServer.readlink, NONE),
    rpc.READ: (MemServer.read, NONE),
    rpc.WRITE: (MemServer.write, rpc.NO_WCC),
    rpc.CREATE: (MemServer.create, rpc.NO_WCC),
    rpc.MKDIR: (MemServer.mkdir, rpc.NO_WCC),
    rpc.SYMLINK: (MemServer.symlink, rpc.NO_WCC),
    rpc.REMOVE: (MemServer.remove, rpc.NO_WCC),
    rpc.RMDIR: (MemServer.rmdir, rpc.NO_WCC),
    rpc.RENAME: (MemServer.rename, rpc.NO_WCC * 2),
    rpc.LINK: (MemServer.link, NONE + rpc.NO_WCC),
    rpc.READDIR: (MemServer.readdir, NONE),
    rpc.READDIRPLUS: (MemServer.readdirplus, NONE),
    rpc.PATHCONF: (MemServer.pathconf, NONE),
}


class FarServer(MemServer):
    """It answers a while later, and refuses what the mode forbids."""

    def __init__(self, trip_s):
        self.trip_s = trip_s
        super().__init__()

    def serve(self, call):
        timer = threading.Timer(self.trip_s, super().serve, (call,))
        timer.daemon = True
        timer.start()

    def may(self, call, node):
        return node.uid == self.of(call) or node.mode & 0o004

    def access(self, call, r):
        node = self.at(r.opaque())
        bits = r.u32() if self.may(call, node) else 0
        return rpc.u32(0) + rpc.post_op(node.attr()) + rpc.u32(bits)

    def read(self, call, r):
        if not self.may(call, self.at(r.opaque())):
            raise Failed(rpc.ACCES)
        return super().read(call, call.reader())
