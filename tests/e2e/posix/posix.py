#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does a sequence of file operations in the current directory, and prints
what each returned, without what differs between any two directories."""
import errno
import hashlib
import os
import stat
import subprocess
import sys
import time

MODE_NAMES = [(stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"),
              (stat.S_ISLNK, "link"), (stat.S_ISFIFO, "fifo"),
              (stat.S_ISCHR, "char"), (stat.S_ISBLK, "block"),
              (stat.S_ISSOCK, "socket")]


def say(what, result):
    print("%s: %s" % (what, result), flush=True)


def do(what, fn, *args, **kw):
    """Run fn and record its result or its errno."""
    try:
        result = fn(*args, **kw)
    except OSError as e:
        say(what, "error " + errno.errorcode.get(e.errno, str(e.errno)))
        return None
    if result is None or isinstance(result, int) and what.startswith("open"):
        say(what, "done")
    else:
        say(what, repr(result))
    return result


def show(name, times=False):
    """lstat without inode, device and clock."""
    try:
        st = os.lstat(name)
    except OSError as e:
        say("stat %r" % name, "error " + errno.errorcode[e.errno])
        return
    kind = [n for test, n in MODE_NAMES if test(st.st_mode)][0]
    size = st.st_size if kind in ("file", "link") else "-"
    say("stat %r" % name, "%s %o nlink=%d %d:%d size=%s rdev=%x%s" % (
        kind, stat.S_IMODE(st.st_mode), st.st_nlink, st.st_uid, st.st_gid,
        size, st.st_rdev if kind in ("char", "block") else 0,
        " atime=%d mtime=%d" % (st.st_atime_ns, st.st_mtime_ns)
        if times else ""))


def put(name, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o666):
    fd = os.open(name, flags, mode)
    try:
        n = os.write(fd, data)
        os.fsync(fd)
        return n
    finally:
        os.close(fd)


def get(name):
    with open(name, "rb") as f:
        data = f.read()
    return len(data), hashlib.sha1(data).hexdigest()


def run(*argv):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = (p.stdout + p.stderr).decode("latin1").splitlines()
    say("run " + " ".join(argv), "status %d" % p.returncode)
    for line in lines:
        print("    " + line)


def contents():
    do("create", put, "a", b"hello\n")
    show("a")
    do("append", put, "a", b"world\n", os.O_WRONLY | os.O_APPEND)
    do("read", get, "a")
    do("write 300000", put, "big", bytes(range(256)) * 1172)
    do("read big", get, "big")
    for size in (100000, 1, 0, 70000, 70001):
        do("truncate %d" % size, os.truncate, "big", size)
        show("big")
        do("read", get, "big")
    fd = os.open("big", os.O_RDWR)
    do("pwrite in the middle", os.pwrite, fd, b"XYZ", 40000)
    do("pread", os.pread, fd, 10, 39995)
    do("pread at the end", os.pread, fd, 10, 69996)
    do("pread after the end", os.pread, fd, 10, 80000)
    os.close(fd)
    do("read", get, "big")
    do("create in absent directory", put, "absent/x", b"")
    do("create below a file", put, "a/x", b"")
    do("open a directory for writing", os.open, ".", os.O_WRONLY)
    do("read absent", get, "absent")


def names():
    do("rename", os.rename, "a", "b")
    show("a")
    show("b")
    put("c", b"old")
    do("rename over", os.rename, "b", "c")
    do("read", get, "c")
    show("b")
    do("rename absent", os.rename, "absent", "x")
    do("link", os.link, "c", "c2")
    show("c")
    do("link again", os.link, "c", "c2")
    do("write through one name", put, "c2", b"both")
    do("read the other", get, "c")
    do("rename onto own link", os.rename, "c", "c2")
    show("c2")
    do("unlink one", os.unlink, "c2")
    show("c")
    do("symlink", os.symlink, "target/with some" + "x" * 200, "s")
    do("readlink", os.readlink, "s")
    show("s")
    do("symlink loop", os.symlink, "loop", "loop")
    do("open loop", os.open, "loop", os.O_RDONLY)
    do("symlink to c", os.symlink, "c", "sc")
    do("read by symlink", get, "sc")
    do("readlink of a file", os.readlink, "c")
    do("unlink absent", os.unlink, "absent")


def directories():
    do("mkdir", os.mkdir, "d", 0o750)
    show("d")
    do("mkdir again", os.mkdir, "d")
    do("mkdir in it", os.mkdir, "d/e")
    show("d")
    do("rmdir non-empty", os.rmdir, "d")
    do("unlink a directory", os.unlink, "d")
    do("rmdir a file", os.rmdir, "c")
    do("rename a directory into itself", os.rename, "d", "d/e/f")
    do("rename directory over file", os.rename, "d/e", "c")
    do("rename file over directory", os.rename, "c", "d/e")
    os.mkdir("d2")
    do("rename over empty directory", os.rename, "d/e", "d2")
    os.mkdir("d/e")
    put("d/e/x", b"")
    do("rename over non-empty directory", os.rename, "d2", "d/e")
    do("rename to another directory", os.rename, "d/e/x", "d2/y")
    do("list", lambda: sorted(os.listdir("d2")))
    do("rmdir", os.rmdir, "d/e")
    show("d")
    show(".")


def specials():
    do("mkfifo", os.mkfifo, "fifo", 0o640)
    show("fifo")
    do("mknod char", os.mknod, "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    show("null")
    do("write to it", put, "null", b"gone", os.O_WRONLY)
    do("mknod block", os.mknod, "blk", stat.S_IFBLK | 0o600,
       os.makedev(259, 70000))
    show("blk")
    do("mknod socket", os.mknod, "sock", stat.S_IFSOCK | 0o600)
    show("sock")


def attributes():
    put("m", b"x")
    for mode in (0o600, 0o7755, 0o000, 0o444):
        do("chmod %o" % mode, os.chmod, "m", mode)
        show("m")
    do("chown", os.chown, "m", 1234, 2345)
    show("m")
    do("lchown a symlink", os.lchown, "s", 1234, 2345)
    show("s")
    do("utime", os.utime, "m", ns=(1000000001123456789, 1500000002987654321))
    show("m", times=True)
    do("utime before 1970", os.utime, "m", ns=(-5, -10 ** 9))
    show("m", times=True)
    run("touch", "-d", "2011-12-13 14:15:16.171819 UTC", "m")
    show("m", times=True)
    now = time.time()
    do("utime now", os.utime, "m")
    say("mtime is about now", abs(os.stat("m").st_mtime - now) < 60)
    os.chmod("m", 0o6755)
    do("write clears set-id", put, "m", b"y", os.O_WRONLY)
    show("m")
    do("access r", os.access, "m", os.R_OK)
    do("access x", os.access, "c", os.X_OK)
    do("mtime moves on write", mtime_moves)


def mtime_moves():
    os.utime("m", ns=(10 ** 18, 10 ** 18))
    put("m", b"z", os.O_WRONLY)
    return os.stat("m").st_mtime_ns > 10 ** 18


def silly_names_after_removal():
    """The client removes a renamed file after close() has returned."""
    end = time.monotonic() + 30
    while True:
        left = [n for n in os.listdir(".") if n.startswith(".nfs")]
        if not left or time.monotonic() > end:
            return len(left)
        time.sleep(.05)


def open_files():
    put("u", b"still here")
    fd = os.open("u", os.O_RDWR)
    do("unlink while open", os.unlink, "u")
    show("u")
    do("read it", os.pread, fd, 100, 0)
    do("write it", os.pwrite, fd, b"S", 0)
    do("read it again", os.pread, fd, 100, 0)
    say("nlink", os.fstat(fd).st_nlink)
    do("close", os.close, fd)
    do("nothing is left", silly_names_after_removal)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    do("exclusive create", put, "excl", b"1", flags, 0o640)
    show("excl")
    do("exclusive create again", put, "excl", b"2", flags)
    do("read", get, "excl")
    do("exclusive create over symlink", put, "sc", b"2", flags)
    run("bash", "-c", "set -o noclobber; echo x >excl")
    run("bash", "-c", "set -o noclobber; echo x >excl2")
    put("o1", b"one")
    fd = os.open("o1", os.O_RDONLY)
    put("o2", b"two")
    do("rename over an open file", os.rename, "o2", "o1")
    do("read the old one", os.pread, fd, 10, 0)
    do("read the new one", get, "o1")
    os.close(fd)


def odd_names():
    for what, name in (
            ("255 bytes", b"n" * 255), ("256 bytes", b"n" * 256),
            ("not UTF-8", b"\xff\xfe\x80 latin\xe9"),
            ("control characters", b"a\nb\tc\x01"),
            ("UTF-8", "gr\u00fc\u00dfe \u6f22".encode()),
            ("quotes", b"'\"\\ $(x) *"), ("leading dash", b"-rf"),
            ("dots", b"..."), ("trailing dot", b"x."), ("space", b" ")):
        do("create, " + what, put, name, what.encode())
        do("read", get, name)
        do("mkdir the same", os.mkdir, name)
        do("rename", os.rename, name, name[:200] + b"R")
        show(os.fsdecode(name[:200] + b"R"))
    long_path = "/".join(["p" * 200] * 12)
    do("deep path", os.makedirs, long_path)
    do("create there", put, long_path + "/f", b"deep")
    do("read there", get, long_path + "/f")
    do("list all", lambda: sorted(ascii(n) for n in os.listdir(b".")
                                  if not n.startswith(b".nfs")))
    put("Case", b"upper")
    put("case", b"lower")
    do("case", lambda: (get("Case")[1][:8], get("case")[1][:8]))


def acls():
    os.mkdir("acl")
    put("acl/f", b"x")
    run("getfacl", "-p", "acl/f")
    run("setfacl", "-m", "u:12345:r-x,g:2345:rw-", "acl/f")
    run("getfacl", "-p", "acl/f")
    show("acl/f")
    run("setfacl", "-d", "-m", "u:12345:rwx,g::r-x,o::---", "acl")
    run("getfacl", "-p", "acl")
    put("acl/inherited", b"x")
    run("getfacl", "-p", "acl/inherited")
    show("acl/inherited")
    os.mkdir("acl/sub")
    run("getfacl", "-p", "acl/sub")
    os.mkfifo("acl/fifo")
    run("getfacl", "-p", "acl/fifo")
    do("chmod changes the mask", os.chmod, "acl/f", 0o640)
    run("getfacl", "-p", "acl/f")
    run("setfacl", "-b", "acl/f")
    run("getfacl", "-p", "acl/f")
    run("setfacl", "-k", "acl/sub")
    run("getfacl", "-p", "acl/sub")
    run("setfacl", "-m", "u:12345:r-x", "acl/inherited")
    os.utime("acl/inherited", ns=(10 ** 18, 12 * 10 ** 17))
    run("cp", "-a", "acl", "acl2")
    run("getfacl", "-R", "-p", "acl2")
    show("acl2/inherited", times=True)
    run("ls", "-ln", "--time-style=+T", "acl2")


def sparse():
    size = 5 << 30
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT, 0o644)
    do("5 GiB", os.ftruncate, fd, size)
    do("write at its end", os.pwrite, fd, b"the end", size - 7)
    do("write past 4 GiB", os.pwrite, fd, b"beyond", (4 << 30) + 1)
    do("fsync", os.fsync, fd)
    os.close(fd)
    show("sparse")
    fd = os.open("sparse", os.O_RDONLY)
    for what, off in (("start", 0), ("4 GiB", 4 << 30), ("end", size - 65536)):
        data = os.pread(fd, 65536, off)
        say("sum of " + what, hashlib.sha1(data).hexdigest())
    do("read after the end", os.pread, fd, 10, size)
    os.close(fd)
    say("it is sparse", os.stat("sparse").st_blocks < 10000)
    do("shrink", os.truncate, "sparse", 3)
    do("read", get, "sparse")


def main():
    os.umask(0o022)
    for part in (contents, names, directories, specials, attributes,
                 open_files, odd_names, acls, sparse):
        say("==", part.__name__)
        part()


sys.exit(main())
