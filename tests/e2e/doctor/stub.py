#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon of another release at a control socket: stub.py PATH refuse|old."""
import os
import socket
import struct
import sys


def field(number, value):
    """A field of protobuf: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


ANSWERS = {
    # Error {BAD_VERSION, text}
    "refuse": field(1, 99) + field(15, field(1, 2) + field(
        2, b"this daemon speaks version 99")),
    # Status {version, pid}
    "old": field(1, 3) + field(16, field(1, b"0.0.9") + field(2, os.getpid())),
}


def main():
    path, kind = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path + ".new")
        s.listen()
        os.rename(path + ".new", path)
        while True:
            client, _ = s.accept()
            with client:
                client.recv(65536)
                answer = ANSWERS[kind]
                client.sendall(struct.pack(">I", len(answer)) + answer)


main()
