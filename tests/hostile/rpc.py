# SPDX-License-Identifier: GPL-2.0-or-later
"""XDR, ONC RPC (RFC 5531) and NFSv3 (RFC 1813) by hand, and a client.

Written from the RFCs and not from the daemon's codecs, so that an error in
those does not hide here as well.
"""
import itertools
import socket
import struct
from collections import namedtuple

NFS, MOUNT, ACL = 100003, 100005, 100227
LAST = 0x80000000
RECORD_MAX = (1 << 20) + (8 << 10)

(NULL, GETATTR, SETATTR, LOOKUP, ACCESS, READLINK, READ, WRITE, CREATE, MKDIR,
 SYMLINK, MKNOD, REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS, FSSTAT,
 FSINFO, PATHCONF, COMMIT) = range(22)
MNT, DUMP, UMNT, UMNTALL, EXPORT = range(1, 6)

OK, NOENT, IO, ACCES, EXIST, NOT_SYNC, NOTSUPP, JUKEBOX = (
    0, 2, 5, 13, 17, 10002, 10004, 10008)
(SUCCESS, PROG_UNAVAIL, PROG_MISMATCH, PROC_UNAVAIL, GARBAGE_ARGS,
 SYSTEM_ERR) = range(6)
RPC_MISMATCH, AUTH_ERROR = range(2)
AUTH_BADCRED, AUTH_REJECTEDCRED, AUTH_TOOWEAK = 1, 2, 5
AUTH_NONE, AUTH_SYS, AUTH_DH, RPCSEC_GSS = 0, 1, 3, 6
REG, DIR, LNK, FIFO = 1, 2, 5, 7

ROOT = b"root-handle-0001"


class Closed(Exception):
    """The other side closed the connection."""


# ---- XDR ------------------------------------------------------------------

def u32(*values):
    return struct.pack(">%dI" % len(values), *values)


def u64(*values):
    return struct.pack(">%dQ" % len(values), *values)


def opaque(data, claim=None):
    """Variable-length opaque; `claim` lies about the length."""
    if isinstance(data, str):
        data = data.encode()
    return u32(len(data) if claim is None else claim) + data + \
        b"\0" * (-len(data) % 4)


class Reader:
    def __init__(self, data):
        self.data, self.pos = data, 0

    def u32(self):
        self.pos += 4
        return struct.unpack_from(">I", self.data, self.pos - 4)[0]

    def u64(self):
        self.pos += 8
        return struct.unpack_from(">Q", self.data, self.pos - 8)[0]

    def fixed(self, n):
        self.pos += n + -n % 4
        return self.data[self.pos - n - -n % 4:][:n]

    def opaque(self):
        return self.fixed(self.u32())

    def rest(self):
        return self.data[self.pos:]


# ---- RPC ------------------------------------------------------------------

def record(*fragments):
    """One record, in as many fragments as there are arguments."""
    out = b"".join(u32(len(f)) + f for f in fragments[:-1])
    return out + u32(LAST | len(fragments[-1])) + fragments[-1]


def auth_sys(uid=1000, gid=1000, gids=(), machine="client", stamp=7):
    return AUTH_SYS, u32(stamp) + opaque(machine) + u32(uid, gid) + \
        u32(len(gids), *gids)


def call(xid, proc, body=b"", cred=None, prog=NFS, vers=3, rpcvers=2,
         verf=(AUTH_NONE, b"")):
    flavor, cred_body = cred or auth_sys()
    return u32(xid, 0, rpcvers, prog, vers, proc, flavor) + \
        opaque(cred_body) + u32(verf[0]) + opaque(verf[1]) + body


def accepted(xid, stat=SUCCESS, body=b""):
    return u32(xid, 1, 0, AUTH_NONE, 0, stat) + body


def rejected(xid, *words):
    return u32(xid, 1, 1, *words)


# ok: the call was accepted and succeeded; error: "PROC_UNAVAIL" and so on as
# numbers: (accepted, status, detail).
Reply = namedtuple("Reply", "xid accepted stat detail body raw")


def parse_reply(raw):
    r = Reader(raw)
    xid, kind, denied = r.u32(), r.u32(), r.u32()
    if kind != 1:
        raise ValueError("not a reply: %r" % raw[:64])
    if denied:
        stat = r.u32()
        detail = (r.u32(), r.u32()) if stat == RPC_MISMATCH else r.u32()
        return Reply(xid, False, stat, detail, r.rest(), raw)
    r.u32()
    r.opaque()
    stat = r.u32()
    detail = (r.u32(), r.u32()) if stat == PROG_MISMATCH else None
    return Reply(xid, True, stat, detail, r.rest(), raw)


def status(reply):
    """The NFS status of a successful RPC."""
    if not reply.accepted or reply.stat != SUCCESS:
        raise AssertionError("RPC error: %r" % (reply,))
    return struct.unpack_from(">I", reply.body)[0]


# ---- NFSv3 arguments ------------------------------------------------------

def sattr(mode=None, uid=None, gid=None, size=None):
    out = b""
    for value in (mode, uid, gid):
        out += u32(0) if value is None else u32(1, value)
    out += u32(0) if size is None else u32(1) + u64(size)
    return out + u32(0, 0)


def dirop(name, dir=ROOT):
    return opaque(dir) + opaque(name)


def lookup_args(name, dir=ROOT):
    return dirop(name, dir)


def access_args(fh=ROOT, mask=0x3f):
    return opaque(fh) + u32(mask)


def read_args(fh=ROOT, offset=0, count=4096):
    return opaque(fh) + u64(offset) + u32(count)


def write_args(data, fh=ROOT, offset=0, count=None, stable=2):
    return opaque(fh) + u64(offset) + \
        u32(len(data) if count is None else count, stable) + opaque(data)


def create_args(name, dir=ROOT, mode=0, verf=None):
    how = verf if mode == 2 else sattr(0o644)
    return dirop(name, dir) + u32(mode) + how


def mkdir_args(name, dir=ROOT):
    return dirop(name, dir) + sattr(0o755)


def symlink_args(name, target, dir=ROOT):
    return dirop(name, dir) + sattr(0o777) + opaque(target)


def mknod_args(name, dir=ROOT):
    return dirop(name, dir) + u32(FIFO) + sattr(0o600)


def rename_args(old, new, dir=ROOT):
    return dirop(old, dir) + dirop(new, dir)


def link_args(fh, name, dir=ROOT):
    return opaque(fh) + dirop(name, dir)


def setattr_args(fh=ROOT, attr=None, guard=None):
    out = opaque(fh) + (attr or sattr(mode=0o700))
    return out + (u32(0) if guard is None else u32(1, *guard))


def readdir_args(fh=ROOT, cookie=0, count=4096):
    return opaque(fh) + u64(cookie) + b"\0" * 8 + u32(count)


def readdirplus_args(fh=ROOT, cookie=0, dircount=4096, maxcount=8192):
    return opaque(fh) + u64(cookie) + b"\0" * 8 + u32(dircount, maxcount)


def commit_args(fh=ROOT):
    return opaque(fh) + u64(0) + u32(0)


# ---- NFSv3 results --------------------------------------------------------


def fattr(kind=REG, fileid=100, size=0, mode=0o644, nlink=None, ctime=(5, 0),
          uid=1000):
    if nlink is None:
        nlink = 2 if kind == DIR else 1
    return u32(kind, mode, nlink, uid, uid) + u64(size, size) + u32(0, 0) + \
        u64(1, fileid) + u32(1, 0) + u32(2, 0) + u32(*ctime)


def post_op(attr):
    return u32(0) if attr is None else u32(1) + attr


NO_WCC = u32(0, 0)


def newobj(fh, attr):
    return u32(OK, 1) + opaque(fh) + post_op(attr) + NO_WCC


def lookup_ok(fh, attr):
    return u32(OK) + opaque(fh) + post_op(attr) + u32(0)


def read_ok(data, count=None, claim=None, eof=0):
    return u32(OK, 0, len(data) if count is None else count, eof) + \
        opaque(data, claim)


def write_ok(count, committed=2, verf=b"verifier"):
    return u32(OK) + NO_WCC + u32(count, committed) + verf


def pattern(offset, count):
    """The bytes that every file holds at an offset, so that a mix-up shows."""
    first = offset // 8
    words = range(first, (offset + count + 7) // 8)
    data = struct.pack(">%dQ" % len(words), *words)
    return data[offset - first * 8:][:count]


# ---- a client -------------------------------------------------------------

class Client:
    """A connection; every wait is bounded by `timeout` seconds."""
    xids = itertools.count(1000)

    def __init__(self, port, source=None, timeout=10, host="127.0.0.1",
                 rcvbuf=None):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect((host, port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.sock.close()

    def abort(self):
        """Close with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def send_raw(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed(str(e))

    def send(self, proc, body=b"", xid=None, **kw):
        xid = next(self.xids) if xid is None else xid
        self.send_raw(record(call(xid, proc, body, **kw)))
        return xid

    def exactly(self, n):
        parts = []
        while n > 0:
            try:
                part = self.sock.recv(min(n, 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                raise Closed("closed by the daemon")
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def recv_record(self):
        data, last = b"", 0
        while not last:
            mark = Reader(self.exactly(4)).u32()
            last = mark & LAST
            data += self.exactly(mark & ~LAST)
        return data

    def recv(self):
        return parse_reply(self.recv_record())

    def call(self, proc, body=b"", xid=None, **kw):
        xid = self.send(proc, body, xid, **kw)
        reply = self.recv()
        if reply.xid != xid:
            raise AssertionError("XID %#x, want %#x" % (reply.xid, xid))
        return reply

    def nfs(self, proc, body=b"", **kw):
        """Call; (status, Reader behind the status)."""
        reply = self.call(proc, body, **kw)
        st = status(reply)
        r = Reader(reply.body)
        r.u32()
        return st, r

    def is_closed(self):
        """Wait for the daemon to close; whatever it still sends is dropped."""
        try:
            while self.sock.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        except socket.timeout:
            return False
        return True
