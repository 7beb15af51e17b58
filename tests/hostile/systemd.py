# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd, as far as the daemon notices: it keeps descriptors, wants to hear
that the daemon is alive, and filters system calls.

Run as a program, `systemd.py FDS FILTER COMMAND...`
becomes COMMAND with FDS as descriptors 3 and up, under a filter.
"""
import array
import ctypes
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading

import daemon
from daemon import poll

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../configs/forefetchd.service.in")
EPERM = 0x00050001         # SECCOMP_RET_ERRNO | EPERM: as the unit has it
KILL = 0x80000000          # SECCOMP_RET_KILL_PROCESS
ALLOW = 0x7fff0000


# ---- the filter -----------------------------------------------------------

def expand(name):
    """The system calls of a set of systemd's, or the one of that name."""
    if not name.startswith("@"):
        return {name}
    out = subprocess.run(
        ["systemd-analyze", "--no-pager", "syscall-filter", name],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    words = [l.strip() for l in out.splitlines() if l.startswith(" ")]
    return set().union(*(expand(w) for w in words if not w.startswith("#")))


def allowed(unit=UNIT):
    """Returns the calls that SystemCallFilter= allows: systemd.exec(5)."""
    calls = expand("@default")
    with open(unit) as f:
        lines = re.findall(r"^SystemCallFilter=(~?)(.*)$", f.read(), re.M)
    for remove, names in lines:
        for name in names.split():
            if remove:
                calls -= expand(name)
            else:
                calls |= expand(name)
    return calls


def numbers(names):
    """Their numbers on this machine; those that it lacks are left out."""
    out = subprocess.run(["cc", "-dM", "-E", "-include", "asm/unistd.h", "-"],
                         input="", stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    table = dict(re.findall(r"#define __NR_(\w+) (\d+)", out))
    return sorted(int(table[n]) for n in names if n in table)


def refuse_all_but(allow, action):
    """Until the end of this process and of what it becomes (seccomp(2))."""
    code = [struct.pack("HBBI", 0x20, 0, 0, 0)]      # load the number
    for nr in allow:
        code.append(struct.pack("HBBI", 0x15, 0, 1, nr))
        code.append(struct.pack("HBBI", 0x06, 0, 0, ALLOW))
    code.append(struct.pack("HBBI", 0x06, 0, 0, action))
    text = ctypes.create_string_buffer(b"".join(code))
    prog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


# ---- the notify socket ----------------------------------------------------

class Systemd:
    """The end of sd_notify(3) that keeps descriptors."""

    def __init__(self, path):
        self.path, self.texts, self.store = path, [], {}
        self.cond = threading.Condition()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(path)
        os.chmod(path, 0o777)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                data, cmsgs, _, _ = self.sock.recvmsg(
                    4096, socket.CMSG_SPACE(64))
            except OSError:
                return
            fds = array.array("i")
            for _, _, raw in cmsgs:
                fds.frombytes(raw)
            self.take(data.decode(), list(fds))

    def take(self, text, fds):
        fields = dict(l.split("=", 1) for l in text.splitlines())
        with self.cond:
            name = fields.get("FDNAME")
            if fields.get("FDSTOREREMOVE") == "1":
                for fd in self.store.pop(name, []):
                    os.close(fd)
            elif fields.get("FDSTORE") == "1":
                self.store.setdefault(name, []).extend(fds)
                fds = []
            self.texts.append(text)
            self.cond.notify_all()
        for fd in fds:  # of a barrier, too
            os.close(fd)

    def said(self, text):
        with self.cond:
            return [t for t in self.texts if text in t]

    def close(self):
        self.sock.close()
        for fds in self.store.values():
            for fd in fds:
                os.close(fd)


class Kept(daemon.Daemon):
    """A daemon that systemd looks after."""

    def __init__(self, upstream, wrap=(), filter_="", watchdog_us=300000,
                 **kw):
        super().__init__(upstream, **kw)
        self.wrap, self.filter = wrap, filter_
        self.watchdog_us = watchdog_us
        self.systemd = Systemd(os.path.join(self.dir, "notify"))

    def start(self):
        kept = [(n, fd) for n, fds in self.systemd.store.items() for fd in fds]
        env = dict(daemon.environment(), NOTIFY_SOCKET=self.systemd.path,
                   LISTEN_FDS=str(len(kept)), WATCHDOG_USEC=str(self.watchdog_us),
                   LISTEN_FDNAMES=":".join(n for n, _ in kept))
        ready = len(self.systemd.said("READY=1"))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, __file__,
                 ",".join(str(fd) for _, fd in kept), self.filter, *self.wrap,
                 daemon.binary("forefetchd"), "-F", "-f", self.file],
                stderr=log, stdout=log, env=env, pass_fds=[
                    fd for _, fd in kept])
        poll(lambda: len(self.systemd.said("READY=1")) > ready
             or self.process.poll() is not None, "it is ready")
        if self.process.poll() is not None:
            raise AssertionError("it exited:\n" + self.log())
        return self

    def close(self):
        super().close()
        self.systemd.close()


def become(fds, filter_, *command):
    fds = [os.dup(int(f)) for f in fds.split(",") if f]
    fds = [os.dup2(f, 200 + i) for i, f in enumerate(fds)]
    for i, f in enumerate(fds):
        os.dup2(f, 3 + i)
        os.set_inheritable(3 + i, True)
    os.closerange(3 + len(fds), 300)
    for name in "LISTEN_PID", "WATCHDOG_PID":
        os.environ[name] = str(os.getpid())
    if filter_:
        refuse_all_but(**json.loads(filter_))
    os.execvp(command[0], command)


if __name__ == "__main__":
    become(*sys.argv[1:])
