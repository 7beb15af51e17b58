#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""users.py make DIR: files and directories of several owners, groups, modes.
users.py try DIR: every operation on each, as each user; prints the results."""
import errno
import os
import sys

ALICE, BOB = 3001, 3002
TEAM, LAST = 4000, 4016
# uid, gid, supplementary groups.  AUTH_SYS carries 16; `last` has exactly 16
# and needs the last of them.
USERS = [
    ("root", 0, 0, []),
    ("alice", ALICE, ALICE, []),
    ("bob", BOB, BOB, []),
    ("alice+team", ALICE, ALICE, [TEAM]),
    ("last", 3003, 3003, list(range(LAST - 15, LAST + 1))),
    ("nobody", 65534, 65534, []),
]
OWNERS = [(0, 0), (ALICE, ALICE), (BOB, TEAM), (BOB, LAST)]
FILE_MODES = [0o000, 0o400, 0o600, 0o640, 0o660, 0o604, 0o044, 0o700, 0o711,
              0o755, 0o111]
DIR_MODES = [0o700, 0o750, 0o770, 0o755, 0o711, 0o733, 0o1777, 0o444]


def make(top):
    os.umask(0)
    os.mkdir(top, 0o755)
    os.chmod(top, 0o755)
    for uid, gid in OWNERS:
        for mode in FILE_MODES:
            name = "%s/f-%d-%d-%04o" % (top, uid, gid, mode)
            with open(name, "w") as f:
                f.write("contents of " + name)
            os.chown(name, uid, gid)
            os.chmod(name, mode)
        for mode in DIR_MODES:
            name = "%s/d-%d-%d-%04o" % (top, uid, gid, mode)
            os.mkdir(name)
            for inner in ("inner", "victim"):
                with open(name + "/" + inner, "w") as f:
                    f.write("inner")
                os.chmod(name + "/" + inner, 0o644)
            os.chown(name, uid, gid)
            os.chmod(name, mode)


def attempt(fn, *args):
    try:
        return "granted %r" % (fn(*args),)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))


def read(name):
    with open(name, "rb") as f:
        return len(f.read())


def write(name):
    """Opens only: contents stay the same for the next pass."""
    os.close(os.open(name, os.O_WRONLY))


def create(name):
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    st = os.stat(name)
    os.unlink(name)
    return st.st_uid, st.st_gid


def unlink(name):
    """Rename away and back needs the same rights and leaves no trace."""
    os.rename(name, name + ".gone")
    os.rename(name + ".gone", name)


def try_file(name):
    yield "read", attempt(read, name)
    yield "write", attempt(write, name)
    for what, mode in (("r", os.R_OK), ("w", os.W_OK), ("x", os.X_OK)):
        yield "access " + what, os.access(name, mode)
    yield "chmod", attempt(os.chmod, name, os.stat(name).st_mode & 0o7777)


def try_dir(name):
    yield "list", attempt(lambda: sorted(os.listdir(name)))
    yield "traverse", attempt(lambda: os.stat(name + "/inner").st_size)
    yield "absent", attempt(os.stat, name + "/absent")
    yield "read", attempt(read, name + "/inner")
    yield "create", attempt(create, name + "/new")
    yield "mkdir", attempt(lambda: (os.mkdir(name + "/sub"),
                                    os.rmdir(name + "/sub"))[0])
    yield "unlink", attempt(unlink, name + "/victim")
    for what, mode in (("r", os.R_OK), ("w", os.W_OK), ("x", os.X_OK)):
        yield "access " + what, os.access(name, mode)


def become(uid, gid, groups):
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def try_as(user, top):
    """In a child, as there is no way back."""
    name, uid, gid, groups = user
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        become(uid, gid, groups)
        for entry in sorted(os.listdir(top)):
            fn = try_file if entry.startswith("f-") else try_dir
            for op, result in fn(top + "/" + entry):
                print("%-10s %-22s %-9s %s" % (name, entry, op, result))
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("the child for %s failed" % name)


def main():
    what, top = sys.argv[1:3]
    if what == "make":
        make(top)
        return
    for user in USERS:
        try_as(user, top)


main()
