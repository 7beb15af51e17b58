# SPDX-License-Identifier: GPL-2.0-or-later
"""A message bus of our own, and programs on it that say what they please, byte
by byte (D-Bus Specification, "Message Protocol")."""
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

from daemon import poll

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY, DEST, SENDER, SIGNATURE = range(
    1, 9)
DBUS = ("/org/freedesktop/DBus", "org.freedesktop.DBus")

CONFIG = """<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=%s</listen>
<auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true"/>
<allow receive_type="*"/><allow send_destination="*"/>
</policy></busconfig>
"""


def pad(data, n):
    return data + bytes(-len(data) % n)


def u32(n):
    return struct.pack("<I", n)


def string(text):
    return u32(len(text)) + text.encode() + b"\0"


def signature(text):
    return bytes([len(text)]) + text.encode() + b"\0"


def strings(*texts):
    body = b""
    for text in texts:
        body = pad(body, 4) + string(text)
    return body


def variant(kind, value):
    """Of a number: aligned where it stands at the beginning of a body."""
    return pad(signature(kind), 4) + value


def message(kind, serial, fields, body=b"", flags=0):
    out = b""
    for code, value in fields:
        out = pad(out, 8) + bytes([code])
        if code == SIGNATURE:
            out += signature("g") + signature(value)
        elif code == REPLY:
            out = pad(out + signature("u"), 4) + u32(value)
        else:
            out += signature("o" if code == PATH else "s")
            out = pad(out, 4) + string(value)
    head = b"l" + bytes([kind, flags, 1]) + u32(len(body)) + u32(serial)
    return pad(head + u32(len(out)) + out, 8) + body


def parse_fields(data):
    out, i = {}, 0
    while i < len(data):
        i += -i % 8
        code, n = data[i], data[i + 1]
        kind = data[i + 2:i + 2 + n]
        i += 3 + n
        if kind == b"g":
            n = data[i]
            out[code] = data[i + 1:i + 1 + n].decode()
            i += n + 2
            continue
        i += -i % 4
        n, = struct.unpack("<I", data[i:i + 4])
        i += 4
        if kind == b"u":
            out[code] = n
            continue
        out[code] = data[i:i + n].decode()
        i += n + 1
    return out


class Bus:
    """dbus-daemon, started and ended at will."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="ff-hostile-")
        self.path = os.path.join(self.dir, "bus")
        self.address = "unix:path=" + self.path
        self.process = None
        with open(os.path.join(self.dir, "conf"), "w") as f:
            f.write(CONFIG % self.path)

    def start(self):
        self.process = subprocess.Popen(
            ["dbus-daemon", "--config-file", os.path.join(self.dir, "conf"),
             "--nofork", "--nopidfile"], stderr=subprocess.DEVNULL)
        poll(lambda: os.path.exists(self.path), "the bus listens")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None
        if os.path.exists(self.path):
            os.unlink(self.path)

    def close(self):
        self.stop()
        shutil.rmtree(self.dir)


class Peer:
    """A program on the bus. `answer` gets each call's fields, and returns the
    signature and the body of the answer, a str for an error, or None."""

    def __init__(self, bus, name=None, answer=None):
        self.answer = answer
        self.calls = []
        self.serial = 0
        self.lock = threading.Lock()
        self.sock = socket.socket(socket.AF_UNIX)
        poll(lambda: self.sock.connect_ex(bus.path) == 0, "the bus")
        uid = str(os.getuid()).encode().hex().encode()
        self.sock.sendall(b"\0AUTH EXTERNAL " + uid + b"\r\nBEGIN\r\n")
        while self.take(1) != b"\n":
            pass
        self.call(DBUS, "Hello")
        if name:
            self.call(DBUS, "RequestName", "su",
                      pad(string(name), 4) + u32(0))
        threading.Thread(target=self.serve, daemon=True).start()

    def take(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def send(self, kind, fields, body=b""):
        with self.lock:
            self.serial += 1
            self.sock.sendall(message(kind, self.serial, fields, body))

    def call(self, to, member, kind="", body=b""):
        self.send(CALL, [(PATH, to[0]), (INTERFACE, to[1]), (MEMBER, member),
                         (DEST, to[1])] +
                  ([(SIGNATURE, kind)] if kind else []), body)

    def signal(self, at, member, kind, body, dest=None):
        self.send(SIGNAL, [(PATH, at[0]), (INTERFACE, at[1]),
                           (MEMBER, member), (SIGNATURE, kind)] +
                  ([(DEST, dest)] if dest else []), body)

    def read(self):
        head = self.take(16)
        body_len, serial, len_ = struct.unpack("<III", head[4:16])
        fields = parse_fields(self.take(len_ + -len_ % 8)[:len_])
        self.take(body_len)
        return head[1], serial, fields

    def serve(self):
        try:
            while True:
                kind, serial, fields = self.read()
                if kind == CALL:
                    self.calls.append(fields)
                    self.reply(serial, fields)
        except (OSError, EOFError):
            return

    def reply(self, serial, fields):
        value = self.answer(fields) if self.answer else None
        to = [(REPLY, serial), (DEST, fields[SENDER])]
        if isinstance(value, str):
            self.send(ERROR, to + [(ERROR_NAME, value)])
        elif value:
            self.send(RETURN, to + [(SIGNATURE, value[0])], value[1])

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()
