# SPDX-License-Identifier: GPL-2.0-or-later
"""An NFSv3, MOUNTv3 and NFSACL server on one loopback port that does as told.

Every call is kept in `calls`. What is not scripted gets a plausible answer
from a file system in which every name exists that was made, and every file
holds rpc.pattern(). A script is a function from a Call to what is to be done:

    bytes        the results of an accepted call
    Raw(bytes)   a record as it is, whatever it says
    Stream(b)    bytes without a record mark
    HOLD         nothing; the test answers later by call.reply()
    CLOSE        reset the connection
    None         the plausible answer
"""
import collections
import errno
import random
import socket
import struct
import threading
import time

import rpc

HOLD, CLOSE = "hold", "close"
Raw = collections.namedtuple("Raw", "data")
Stream = collections.namedtuple("Stream", "data")
RESET = struct.pack("ii", 1, 0)


claims = []


def free_port():
    """Below the range from which the kernel takes source ports. Whoever has it
    may not listen on it yet, and other tests run beside this one: so the port
    is claimed until this process ends, by a socket of its name."""
    while True:
        port = random.randint(20000, 32000)
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as s:
            try:
                claim.bind("\0forefetch-test-port-%d" % port)
                s.bind(("127.0.0.1", port))
                claims.append(claim)
                return port
            except OSError as e:
                claim.close()
                if e.errno != errno.EADDRINUSE:
                    raise


class Call:
    def __init__(self, conn, raw):
        r = rpc.Reader(raw)
        self.conn, self.raw = conn, raw
        self.xid, self.kind, self.rpcvers = r.u32(), r.u32(), r.u32()
        self.prog, self.vers, self.proc = r.u32(), r.u32(), r.u32()
        self.cred = (r.u32(), r.opaque())
        self.verf = (r.u32(), r.opaque())
        self.body = r.rest()
        self.port = conn.peer[1]
        self.at = time.monotonic()

    def reader(self):
        return rpc.Reader(self.body)

    def reply(self, results):
        self.conn.send(rpc.record(rpc.accepted(self.xid, 0, results)))

    def reply_raw(self, rec):
        self.conn.send(rpc.record(rec))


class Conn:
    def __init__(self, server, sock, peer):
        self.server, self.sock, self.peer = server, sock, peer
        self.lock = threading.Lock()

    def send(self, data):
        with self.lock:
            try:
                self.sock.sendall(data)
            except OSError:
                pass

    def reset(self):
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            # The thread in recv() keeps the socket open until it wakes.
            self.sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass
        self.sock.close()

    def run(self):
        client = rpc.Client.__new__(rpc.Client)
        client.sock = self.sock
        try:
            while True:
                self.server.serve(Call(self, client.recv_record()))
        except (rpc.Closed, OSError):
            pass
        finally:
            self.server.forget(self)


class FakeServer:
    def __init__(self, host="127.0.0.1"):
        self.host, self.port = host, free_port()
        self.cond = threading.Condition()
        self.calls, self.accepts = [], []
        self.conns = set()
        self.names = {}
        self.scripts = {}
        self.accept_then_close = False
        self.listener = None
        self.up()

    # ---- the listener

    def up(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((self.host, self.port))
        s.listen(64)
        self.listener = s
        threading.Thread(target=self.accept, args=(s,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                sock, peer = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conn = Conn(self, sock, peer)
            with self.cond:
                if self.listener is not listener:
                    conn.reset()
                    return
                self.accepts.append((time.monotonic(), peer[1]))
                self.cond.notify_all()
                if not self.accept_then_close:
                    self.conns.add(conn)
            if self.accept_then_close:
                conn.reset()
            else:
                threading.Thread(target=conn.run, daemon=True).start()

    def down(self):
        """Refuse connections, and reset those there are."""
        with self.cond:
            listener, self.listener = self.listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.reset_all()

    def reset_all(self):
        with self.cond:
            conns = list(self.conns)
        for conn in conns:
            conn.reset()

    def close(self):
        self.down()

    def forget(self, conn):
        with self.cond:
            self.conns.discard(conn)
        conn.sock.close()

    # ---- calls

    def script(self, proc, what, prog=rpc.NFS):
        """`what`: a function, or its result; None takes a script away."""
        fn = what if callable(what) else lambda call: what
        with self.cond:
            self.scripts[prog, proc] = fn if what is not None else None

    def serve(self, call):
        with self.cond:
            self.calls.append(call)
            fn = self.scripts.get((call.prog, call.proc))
            what = fn(call) if fn else None
            if what is None:
                what = self.plausible(call)
            self.cond.notify_all()
        if what == HOLD:
            return
        if what == CLOSE:
            call.conn.reset()
        elif isinstance(what, Raw):
            call.reply_raw(what.data)
        elif isinstance(what, Stream):
            call.conn.send(what.data)
        else:
            call.reply(what)

    def seen(self, proc, prog=rpc.NFS):
        with self.cond:
            return [c for c in self.calls
                    if c.prog == prog and c.proc == proc]

    def wait(self, proc, n=1, prog=rpc.NFS, timeout=10):
        """Wait until `n` calls of a procedure came; all that came."""
        end = time.monotonic() + timeout
        with self.cond:
            while len(self.seen(proc, prog)) < n:
                left = end - time.monotonic()
                if left <= 0 or not self.cond.wait(left):
                    raise AssertionError(
                        "%d calls of procedure %d, want %d" %
                        (len(self.seen(proc, prog)), proc, n))
            return self.seen(proc, prog)

    # ---- the plausible answer

    def attr_of(self, fh):
        for f, attr in self.names.values():
            if f == fh:
                return attr
        return rpc.fattr(rpc.DIR if fh == rpc.ROOT else rpc.REG)

    def make(self, name, kind, **kw):
        fh = b"fh-" + name.ljust(13, b".")
        self.names[name] = fh, rpc.fattr(kind, 200 + len(self.names), **kw)
        return self.names[name]

    def new_name(self, call, kind, **kw):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        if name in self.names:
            return rpc.u32(rpc.EXIST) + rpc.NO_WCC
        return rpc.newobj(*self.make(name, kind, **kw))

    def plausible(self, call):
        if call.prog == rpc.MOUNT:
            return self.plausible_mount(call)
        if call.prog == rpc.ACL:
            return Raw(rpc.accepted(call.xid, rpc.PROC_UNAVAIL))
        return ANSWERS[call.proc](self, call)

    def plausible_mount(self, call):
        if call.proc == rpc.MNT:
            return rpc.u32(0) + rpc.opaque(rpc.ROOT) + rpc.u32(1, 1)
        if call.proc in (rpc.DUMP, rpc.EXPORT):
            return rpc.u32(0)
        return b""

    def getattr(self, call):
        return rpc.u32(0) + self.attr_of(call.reader().opaque())

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        if name not in self.names:
            return rpc.u32(rpc.NOENT, 0)
        return rpc.lookup_ok(*self.names[name])

    def access(self, call):
        r = call.reader()
        r.opaque()
        return rpc.u32(0, 0, r.u32())

    def read(self, call):
        r = call.reader()
        r.opaque()
        return rpc.read_ok(rpc.pattern(r.u64(), r.u32()))

    def write(self, call):
        r = call.reader()
        r.opaque()
        r.u64()
        return rpc.write_ok(r.u32())

    def remove(self, call):
        r = call.reader()
        r.opaque()
        gone = self.names.pop(r.opaque(), None)
        return rpc.u32(0 if gone else rpc.NOENT) + rpc.NO_WCC

    def rename(self, call):
        r = call.reader()
        r.opaque()
        old = r.opaque()
        r.opaque()
        if old not in self.names:
            return rpc.u32(rpc.NOENT) + rpc.NO_WCC * 2
        self.names[r.opaque()] = self.names.pop(old)
        return rpc.u32(0) + rpc.NO_WCC * 2

    def link(self, call):
        r = call.reader()
        fh = r.opaque()
        r.opaque()
        name = r.opaque()
        if name in self.names:
            return rpc.u32(rpc.EXIST, 0) + rpc.NO_WCC
        self.names[name] = fh, self.attr_of(fh)
        return rpc.u32(0, 0) + rpc.NO_WCC


def _fixed(results):
    return lambda server, call: results


ANSWERS = {
    rpc.NULL: _fixed(b""),
    rpc.GETATTR: FakeServer.getattr,
    rpc.SETATTR: _fixed(rpc.u32(0) + rpc.NO_WCC),
    rpc.LOOKUP: FakeServer.lookup,
    rpc.ACCESS: FakeServer.access,
    rpc.READLINK: _fixed(rpc.u32(0, 0) + rpc.opaque("target")),
    rpc.READ: FakeServer.read,
    rpc.WRITE: FakeServer.write,
    rpc.CREATE: lambda s, c: s.new_name(c, rpc.REG),
    rpc.MKDIR: lambda s, c: s.new_name(c, rpc.DIR),
    rpc.SYMLINK: lambda s, c: s.new_name(c, rpc.LNK),
    rpc.MKNOD: lambda s, c: s.new_name(c, rpc.FIFO),
    rpc.REMOVE: FakeServer.remove,
    rpc.RMDIR: FakeServer.remove,
    rpc.RENAME: FakeServer.rename,
    rpc.LINK: FakeServer.link,
    rpc.READDIR: _fixed(rpc.u32(0, 0) + b"\0" * 8 + rpc.u32(0, 1)),
    rpc.READDIRPLUS: _fixed(rpc.u32(0, 0) + b"\0" * 8 + rpc.u32(0, 1)),
    rpc.FSSTAT: _fixed(rpc.u32(0, 0) + b"\0" * 52),
    rpc.FSINFO: _fixed(rpc.u32(0, 0, 65536, 65536, 4096, 65536, 65536, 4096,
                               4096) + rpc.u64(1 << 40) + rpc.u32(0, 1, 27)),
    rpc.PATHCONF: _fixed(rpc.u32(0, 0, 32000, 255, 1, 1, 0, 1)),
    rpc.COMMIT: _fixed(rpc.u32(0) + rpc.NO_WCC + b"verifier"),
}
