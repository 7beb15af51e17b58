#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mount3.py dump HOST PORT export|mounts: what `showmount -e`, or `-a`, asks,
at a given TCP port (showmount itself asks rpcbind).  RFC 1813 appendix I."""
import errno
import socket
import struct
import sys

PROC = {"mounts": 2, "export": 5}


def call(host, port, proc):
    with reserved(host, port) as s:
        body = struct.pack(">10I", 4711, 0, 2, 100005, 3, proc, 0, 0, 0, 0)
        s.sendall(struct.pack(">I", 0x80000000 | len(body)) + body)
        return record(s)


def reserved(host, port):
    """From a port below 1024, which the proxy asks for by default."""
    for source in range(1000, 700, -1):
        try:
            return socket.create_connection((host, port), 30, ("", source))
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
    sys.exit("no reserved port")


def record(s):
    data = b""
    while True:
        (head,) = struct.unpack(">I", exactly(s, 4))
        data += exactly(s, head & 0x7fffffff)
        if head >> 31:
            return data


def exactly(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            sys.exit("connection closed")
        data += part
    return data


class Reader:
    def __init__(self, data):
        self.data, self.pos = data, 0

    def word(self):
        self.pos += 4
        return struct.unpack_from(">I", self.data, self.pos - 4)[0]

    def string(self):
        n = self.word()
        text = self.data[self.pos:self.pos + n]
        self.pos += (n + 3) & ~3
        return text.decode()


def main():
    _, host, port, what = sys.argv[1:5]
    r = Reader(call(host, int(port), PROC[what]))
    head = [r.word() for _ in range(6)]
    if head[1:3] != [1, 0] or head[5] != 0:
        sys.exit("RPC refused: %s" % head)
    lines = []
    while r.word():
        name = r.string()
        if what == "mounts":
            lines.append("%s:%s" % (name, r.string()))
            continue
        groups = []
        while r.word():
            groups.append(r.string())
        lines.append("%s %s" % (name, ",".join(groups)))
    print("\n".join(sorted(lines)))


main()
