# SPDX-License-Identifier: GPL-2.0-or-later
"""A raw NFSv3 client for the end-to-end tests: no cache, calls in flight.

A Wire waits for many Links at once.  Link.send() returns at once; the callback
gets (t_sent, t_reply, result), times of CLOCK_MONOTONIC in seconds: taken
before the call was written and after the reply was read.  Results are plain
dictionaries: st (nfsstat3), attr, dir, fh, data and so on.
"""
import collections
import errno
import itertools
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../hostile"))
import rpc # noqa: E402

STALE, NOTEMPTY, BAD_COOKIE, NOTSUPP = 70, 66, 10003, 10004
CHANGES = (rpc.SETATTR, rpc.WRITE, rpc.CREATE, rpc.MKDIR, rpc.SYMLINK,
           rpc.MKNOD, rpc.REMOVE, rpc.RMDIR, rpc.RENAME, rpc.LINK)
PROC_NAMES = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR "
    "SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO "
    "PATHCONF COMMIT").split()

Fattr = collections.namedtuple(
    "Fattr", "type mode nlink uid gid size used fsid fileid atime mtime ctime")
Entry = collections.namedtuple("Entry", "fileid name cookie attr fh")

now = time.monotonic


class RpcError(Exception):
    """The call was not accepted, or no NFS result came back."""


# ---- results ----------------------------------------------------------------

FATTR = struct.Struct(">5I2Q8x2Q6I") # without rdev


def get_fattr(r):
    v = FATTR.unpack(r.fixed(FATTR.size))
    return Fattr(*v[:9], v[9:11], v[11:13], v[13:15])


def get_post_op(r):
    return get_fattr(r) if r.u32() else None


def get_wcc(r):
    if r.u32():
        r.fixed(24)
    return get_post_op(r)


def get_post_fh(r):
    return r.opaque() if r.u32() else None


def get_entries(r, plus):
    entries = []
    while r.u32():
        fileid, name, cookie = r.u64(), r.opaque().decode(), r.u64()
        attr = get_post_op(r) if plus else None
        fh = get_post_fh(r) if plus else None
        entries.append(Entry(fileid, name, cookie, attr, fh))
    return entries


def get_listing(r, ok, plus):
    out = {"dir": get_post_op(r)}
    if ok:
        out["verf"] = r.fixed(8)
        out["entries"] = get_entries(r, plus)
        out["eof"] = r.u32()
    return out


def get_lookup(r, ok):
    out = {}
    if ok:
        out = {"fh": r.opaque(), "attr": get_post_op(r)}
    out["dir"] = get_post_op(r)
    return out


def get_access(r, ok):
    out = {"attr": get_post_op(r)}
    if ok:
        out["mask"] = r.u32()
    return out


def get_readlink(r, ok):
    out = {"attr": get_post_op(r)}
    if ok:
        out["target"] = r.opaque()
    return out


def get_read(r, ok):
    out = {"attr": get_post_op(r)}
    if ok:
        out["count"], out["eof"], out["data"] = r.u32(), r.u32(), r.opaque()
    return out


def get_write(r, ok):
    out = {"attr": get_wcc(r)}
    if ok:
        out["count"], out["committed"], out["verf"] = \
            r.u32(), r.u32(), r.fixed(8)
    return out


def get_newobj(r, ok):
    out = {}
    if ok:
        out = {"fh": get_post_fh(r), "attr": get_post_op(r)}
    out["dir"] = get_wcc(r)
    return out


RESULTS = {
    rpc.GETATTR: lambda r, ok: {"attr": get_fattr(r)} if ok else {},
    rpc.SETATTR: lambda r, ok: {"attr": get_wcc(r)},
    rpc.LOOKUP: get_lookup,
    rpc.ACCESS: get_access,
    rpc.READLINK: get_readlink,
    rpc.READ: get_read,
    rpc.WRITE: get_write,
    rpc.CREATE: get_newobj,
    rpc.MKDIR: get_newobj,
    rpc.SYMLINK: get_newobj,
    rpc.MKNOD: get_newobj,
    rpc.REMOVE: lambda r, ok: {"dir": get_wcc(r)},
    rpc.RMDIR: lambda r, ok: {"dir": get_wcc(r)},
    rpc.RENAME: lambda r, ok: {"dir": get_wcc(r), "dir2": get_wcc(r)},
    rpc.LINK: lambda r, ok: {"attr": get_post_op(r), "dir": get_wcc(r)},
    rpc.READDIR: lambda r, ok: get_listing(r, ok, False),
    rpc.READDIRPLUS: lambda r, ok: get_listing(r, ok, True),
    rpc.FSSTAT: lambda r, ok: {"attr": get_post_op(r), "rest": r.rest()},
    rpc.FSINFO: lambda r, ok: {"attr": get_post_op(r), "rest": r.rest()},
    rpc.PATHCONF: lambda r, ok: {"attr": get_post_op(r), "rest": r.rest()},
    rpc.COMMIT: lambda r, ok: {"attr": get_wcc(r)},
}


def decode(proc, reply):
    if not reply.accepted or reply.stat != rpc.SUCCESS:
        raise RpcError("%s: %r" % (PROC_NAMES[proc], reply[:4]))
    r = rpc.Reader(reply.body)
    st = r.u32()
    out = RESULTS[proc](r, st == rpc.OK)
    out["st"] = st
    return out


# ---- calls ------------------------------------------------------------------

def connect(host, port, reserved=False, timeout=60):
    if not reserved:
        return socket.create_connection((host, port), timeout)
    for source in range(1000, 600, -1):
        try:
            return socket.create_connection((host, port), timeout,
                                            ("", source))
        except OSError as e:
            if e.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise
    raise OSError("no reserved port is free")


class Link:
    """One TCP connection."""
    xids = itertools.count(int(time.time()) << 8 & 0xffffffff)

    def __init__(self, wire, host, port, reserved=False):
        self.wire, self.to = wire, (host, port, reserved)
        self.calls = {}
        self.open()

    def open(self):
        self.sock = connect(*self.to)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = bytearray()
        self.wire.add(self)

    def again(self):
        """As the kernel does where the daemon closes a connection after an
        outage: what is still waited for is asked for again."""
        self.wire.remove(self)
        self.sock.close()
        self.open()
        for _, _, _, data in list(self.calls.values()):
            self.sock.sendall(data)

    def send(self, proc, body, done, cred=None):
        xid = next(self.xids) & 0xffffffff
        data = rpc.record(rpc.call(xid, proc, body, cred=cred))
        t = now()
        self.calls[xid] = (proc, t, done, data)
        self.sock.sendall(data)
        return t

    def call(self, proc, body, cred=None):
        """One call, waiting; others in flight go on meanwhile."""
        box = []
        self.send(proc, body, lambda *a: box.append(a), cred)
        self.wire.until(lambda: box)
        return box[0]

    def receive(self):
        part = self.sock.recv(1 << 18)
        if not part and self.to[0] == "127.0.0.1":
            self.again()
            return
        if not part:
            raise RpcError("connection closed")
        self.buf += part
        while True:
            raw = self.take_record()
            if raw is None:
                return
            self.reply(raw)

    def take_record(self):
        pos, data = 0, b""
        while True:
            if len(self.buf) < pos + 4:
                return None
            mark = int.from_bytes(self.buf[pos:pos + 4], "big")
            n = mark & 0x7fffffff
            if len(self.buf) < pos + 4 + n:
                return None
            data += bytes(self.buf[pos + 4:pos + 4 + n])
            pos += 4 + n
            if mark >> 31:
                del self.buf[:pos]
                return data

    def reply(self, raw):
        t = now()
        reply = rpc.parse_reply(raw)
        proc, t_sent, done, _ = self.calls.pop(reply.xid)
        done(t_sent, t, decode(proc, reply))

    def close(self):
        self.wire.remove(self)
        self.sock.close()


class Wire:
    """All connections of a test; its callbacks run inside turn()."""

    def __init__(self, patience=60):
        self.links, self.patience = {}, patience
        self.poll = select.poll()

    def add(self, link):
        self.links[link.sock.fileno()] = link
        self.poll.register(link.sock, select.POLLIN)

    def remove(self, link):
        self.poll.unregister(link.sock)
        del self.links[link.sock.fileno()]

    def busy(self):
        return sum(len(l.calls) for l in self.links.values())

    def turn(self, seconds):
        for fd, _ in self.poll.poll(max(0, seconds * 1000)):
            self.links[fd].receive()

    def until(self, condition):
        end = now() + self.patience
        while not condition():
            if now() > end:
                raise RpcError("no reply within %g s" % self.patience)
            self.turn(0.5)

    def drain(self, left=0):
        self.until(lambda: self.busy() <= left)

    def pause(self, seconds):
        """Replies are taken meanwhile, with their true times."""
        end = now() + seconds
        while now() < end:
            self.turn(end - now())


def mount(host, port, path, reserved=False):
    """The root handle of an export, by MOUNTv3."""
    with connect(host, port, reserved) as s:
        c = rpc.Client.__new__(rpc.Client)
        c.sock = s
        reply = c.call(rpc.MNT, rpc.opaque(path), prog=rpc.MOUNT,
                       cred=rpc.auth_sys(0, 0))
    r = rpc.Reader(reply.body)
    if reply.stat != rpc.SUCCESS or r.u32() != 0:
        raise RpcError("MNT %s: %r" % (path, reply))
    return r.opaque()
