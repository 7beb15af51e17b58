# SPDX-License-Identifier: GPL-2.0-or-later
"""A small tree behind the fake server, and programs that talk to the control
socket by bytes of their own."""
import contextlib
import os
import socket
import struct

import daemon
import rpc
from daemon import poll
from rpc import opaque, u32, u64


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, data):
    """Of protobuf: bytes, or a number."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def each_field(data):
    """Number and value of every field, in their order."""
    i = 0

    def take():
        nonlocal i
        n = shift = 0
        while True:
            n |= (data[i] & 127) << shift
            shift += 7
            i += 1
            if data[i - 1] < 128:
                return n
    while i < len(data):
        tag = take()
        if tag & 7 == 1:
            yield tag >> 3, int.from_bytes(data[i:i + 8], "little")
            i += 8
            continue
        n = take()
        if tag & 7 == 2:
            yield tag >> 3, data[i:i + n]
            i += n
        else:
            yield tag >> 3, n


def fields(data):
    """By number; of a repeated field, the last value."""
    return dict(each_field(data))


VERSION = 3  # of the control protocol


class Control:
    """A connection to the control socket."""

    def __init__(self, ff):
        self.sock = socket.socket(socket.AF_UNIX)
        # The file is there a moment before somebody listens.
        poll(lambda: self.sock.connect_ex(ff.socket) == 0, "control")

    def ask(self, command, body=b"", answer=None):
        """The answer to it, by field; its error's code is field -1. `answer`:
        where that is not of the command's number."""
        answer = answer or command
        req = field(1, VERSION) + field(command, body)
        self.sock.sendall(struct.pack(">I", len(req)) + req)
        n, = struct.unpack(">I", self.take(4))
        res = fields(self.take(n))
        if answer not in res:
            return {-1: fields(res[15])[1]}
        return fields(res[answer])

    def take(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def close(self):
        self.sock.close()


def place(ff, path=b""):
    return (field(1, b"127.0.0.1:%d" % ff.port) + field(2, b"/srv") +
            field(3, path))


def fh(name):
    return b"fh-" + name.ljust(13, b".")


def entry(name, cookie, attr, handle=True):
    out = u32(1) + u64(cookie + 1000) + opaque(name) + u64(cookie)
    out += u32(1) + attr
    return out + (u32(1) + opaque(fh(name)) if handle else u32(0))


def page(entries, eof=True):
    return (u32(0, 1) + rpc.fattr(rpc.DIR) + b"verifier" + b"".join(entries) +
            u32(0, int(eof)))


def cookie_of(call):
    r = call.reader()
    return r.opaque(), r.u64()


class Tree(daemon.Case):
    settings = {"offline": "serve"}
    size = 100000

    def setUp(self):
        super().setUp()
        self.up.script(rpc.ACCESS, self.access)
        self.up.script(rpc.READDIRPLUS, self.list)
        self.up.script(rpc.READ, self.read)
        # As its listings tell: else a client that asks would see a change.
        self.up.script(rpc.GETATTR, lambda call: u32(0) + self.attr(
            self.name_of(call.reader().opaque())))

    def bystander_alive(self):
        with self.ff.connect() as c:
            st, _ = c.nfs(rpc.GETATTR, opaque(rpc.ROOT))
            self.assertEqual(st, 0)

    def attr(self, name):
        if name.startswith(b"dir") or name == b"root":
            return rpc.fattr(rpc.DIR, 7)
        kind = rpc.LNK if name.startswith(b"link") else rpc.REG
        return rpc.fattr(kind, 300 + len(name), size=self.size)

    def name_of(self, handle):
        return b"root" if handle == rpc.ROOT else handle[3:].rstrip(b".")

    def access(self, call):
        r = call.reader()
        handle = r.opaque()
        return u32(0, 1) + self.attr(self.name_of(handle)) + u32(r.u32())

    def list(self, call):
        """Two pages for the root; one directory with a file."""
        handle, cookie = cookie_of(call)
        if handle != rpc.ROOT:
            return page([entry(b"inner", 1, self.attr(b"inner"))])
        if cookie == 0:
            return page([entry(b".", 1, self.attr(b"dir")),
                         entry(b"..", 2, self.attr(b"dir")),
                         entry(b"dir", 3, self.attr(b"dir"))], False)
        return page([entry(b"file", 4, self.attr(b"file")),
                     entry(b"link", 5, self.attr(b"link")),
                     entry(b".snapshot", 6, self.attr(b"dir"))])

    def read(self, call):
        """Never more than half of what was asked for."""
        r = call.reader()
        name = self.name_of(r.opaque())
        offset, count = r.u64(), r.u32()
        if name == b"root":
            return None
        n = min((count + 1) // 2, self.size - offset)
        return (u32(0, 1) + self.attr(name) +
                u32(n, int(offset + n == self.size)) +
                opaque(rpc.pattern(offset, n)))


ALICE, BOB = 65001, 65002


@contextlib.contextmanager
def being(uid):
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def cred(uid):
    return rpc.auth_sys(uid=uid, gid=uid)


class Users(Tree):
    """Several users of one daemon, each with connections of its own."""
    size = 2048  # one READ brings all

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can be several users")
        groups = os.getgroups()
        os.setgroups([])
        self.addCleanup(os.setgroups, groups)
        super().setUp()
        os.chmod(self.ff.dir, 0o755)
        self.up.script(rpc.LOOKUP, self.lookup)
        self.client = self.connect()
        self.client.call(rpc.MNT, opaque(b"/srv"), prog=rpc.MOUNT)

    def attr(self, name):
        # As in its listings, or it would seem to change all the time.
        return rpc.fattr(rpc.DIR) if name == b"root" else super().attr(name)

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        return rpc.lookup_ok(fh(name), self.attr(name))

    def connection(self, uid):
        with being(uid):
            control = Control(self.ff)
        self.addCleanup(control.close)
        return control

    def user(self, uid):
        control = self.connection(uid)
        # It is accepted, and known by its uid, before the next one is.
        self.assertNotIn(-1, control.ask(16))
        return control
