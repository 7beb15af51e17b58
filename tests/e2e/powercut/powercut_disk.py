# SPDX-License-Identifier: GPL-2.0-or-later
"""powercut.py does this to disks: a device that logs its writes, that log, and a
disk that is put back to a moment of it.

The log is that of the kernel's dm-log-writes (log-writes.rst in its
documentation): a superblock, then entries of a header and data.  A write that was
not FUA comes in the log with the next FLUSH after its end, as a disk may keep it in
its memory until then.
"""
import collections
import contextlib
import ctypes
import fcntl
import mmap
import os
import struct
import subprocess
import time
import zlib

FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
MAGIC = 0x6a736677736872
SECTOR = 512

Entry = collections.namedtuple("Entry", "number sector flags data")

libc = ctypes.CDLL(None, use_errno=True)


def call(what, *args):
    if getattr(libc, what)(*args) < 0:
        e = ctypes.get_errno()
        raise OSError(e, "%s: %s" % (what, os.strerror(e)))


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


# ---- mounts -------------------------------------------------------------------

def mount(device, where, fs, options=""):
    os.makedirs(where, exist_ok=True)
    call("mount", device.encode(), where.encode(), fs.encode(), 0,
         options.encode() or None)


def umount(where, bound=10):
    """A process that was killed may hold it for a moment."""
    end = time.monotonic() + bound
    while True:
        try:
            return call("umount2", where.encode(), 0)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)


def sync(where):
    fd = os.open(where, os.O_RDONLY)
    try:
        call("syncfs", fd)
    finally:
        os.close(fd)


def make_image(path, fs, mib):
    """An empty file system; xfs that small is for tests only, so mkfs asks for a
    word."""
    with open(path, "wb") as f:
        f.truncate(mib << 20)
    run("mkfs." + fs, *{
        "ext4": ("-q", "-F", "-b", "4096", "-E",
                 "lazy_itable_init=0,lazy_journal_init=0"),
        "btrfs": ("-q", "-f"),
        "xfs": ("-q", "-f", "--unsupported")}[fs], path)


def files_sum(top):
    """Equal where all files below are."""
    total = 0
    for where, dirs, files in os.walk(top):
        dirs.sort()
        for name in sorted(files):
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                data = f.read()
            total = zlib.crc32(b"%s %d %d" % (
                path.encode(), len(data), zlib.crc32(data)), total)
    return total


# ---- recording ----------------------------------------------------------------

class Logged:
    """A device over a copy of an image; whatever is written to it is logged."""
    NAME = "powercut"
    # struct dm_ioctl and DM_TARGET_MSG of linux/dm-ioctl.h
    TARGET_MSG = 3 << 30 | 312 << 16 | 0xfd << 8 | 14

    def __init__(self, image, log, log_mib):
        self.device = "/dev/mapper/" + self.NAME
        with open(log, "wb") as f:
            f.truncate(log_mib << 20)
        with contextlib.ExitStack() as undo:
            loops = []
            for path in (image, log):
                loops.append(run("losetup", "-f", "--show", path))
                undo.callback(run, "losetup", "-d", loops[-1])
            sectors = os.path.getsize(image) // SECTOR
            run("dmsetup", "--noudevsync", "create", self.NAME, "--table",
                "0 %d log-writes %s %s" % (sectors, *loops))
            undo.callback(run, "dmsetup", "--noudevsync", "remove", "--retry", self.NAME)
            run("dmsetup", "--noudevsync", "mknodes")
            self.control = open("/dev/mapper/control", "rb+", buffering=0)
            undo.callback(self.control.close)
            self.undo = undo.pop_all()

    def mark(self, text):
        """An entry of the log that says so, without a process for it."""
        message = struct.pack("=Q", 0) + b"mark " + text.encode() + b"\0"
        head = bytearray(312)
        struct.pack_into("=5I", head, 0, 4, 0, 0, 312 + len(message), 312)
        head[48:48 + len(self.NAME)] = self.NAME.encode()
        fcntl.ioctl(self.control, self.TARGET_MSG, head + message)

    def close(self):
        self.undo.close()


# ---- the log ------------------------------------------------------------------

def count(path):
    with open(path, "rb") as f:
        magic, version, n, size = struct.unpack("<3QI", f.read(28))
    if magic != MAGIC or version != 1 or size != SECTOR:
        raise ValueError("%s: no log of writes" % path)
    return n


def entries(path):
    """All entries of a log, in their order."""
    size = SECTOR
    with open(path, "rb") as f:
        at = size
        for number in range(count(path)):
            f.seek(at)
            sector, sectors, flags, length = struct.unpack(
                "<4Q", f.read(32))
            at += size
            if flags & MARK:
                data = f.read(length).rstrip(b"\0")
            elif flags & DISCARD:
                data = bytes(sectors * size)
            else:
                f.seek(at)
                data = f.read(sectors * size)
                at += sectors * size
            yield Entry(number, sector, flags, data)


# ---- replaying ----------------------------------------------------------------

class Cached:
    """The writes since a FLUSH. Those that are on the disk for good belong to it as
    well: an earlier one must not come over them."""

    def __init__(self):
        self.writes, self.count = [], 0 # the latter: of those that may be lost

    def add(self, offset, data, firm):
        self.writes.append((offset, data, firm))
        self.count += not firm

    def all(self):
        return [(offset, data) for offset, data, _ in self.writes]

    def some(self, rng):
        """Those of them that a disk may have: some, but not all, in their
        order."""
        loose = [n for n, write in enumerate(self.writes) if not write[2]]
        kept = set(rng.sample(loose, rng.randrange(1, len(loose))))
        return [(offset, data) for n, (offset, data, firm) in enumerate(self.writes)
                if firm or n in kept]


class View:
    """A disk whose contents are set from memory; mounted at will."""

    def __init__(self, path, size, where, fs, options):
        self.where, self.fs, self.options = where, fs, options
        self.size = size
        self.file = open(path, "wb+")
        self.file.truncate(size)
        self.map = mmap.mmap(self.file.fileno(), size)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.loop = run("losetup", "-f", "--show", path)

    def put(self, image, writes):
        """`image`, a bytearray, and then some [(offset, data)]."""
        source = (ctypes.c_char * self.size).from_buffer(image)
        ctypes.memmove(self.at, source, self.size)
        for offset, data in writes:
            self.map[offset:offset + len(data)] = bytes(data)

    def mount(self):
        mount(self.loop, self.where, self.fs, self.options)

    def umount(self):
        umount(self.where)

    def close(self):
        run("losetup", "-d", self.loop)
        self.file.close()
