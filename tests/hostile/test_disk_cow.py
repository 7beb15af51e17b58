#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache on a disk that copies on write and is full: no store into what is
mapped, right bytes, and no end of the daemon."""
import errno
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

import daemon
import rpc
from case_disk import FILE, PIECE, SIZE, Disk
from daemon import poll
from rpc import u32


def missing():
    """Why there can be no btrfs here; "" where there can."""
    if os.geteuid() != 0:
        return "needs root to mount"
    if not shutil.which("mkfs.btrfs"):
        return "needs mkfs.btrfs (Debian: btrfs-progs)"
    if not os.path.exists("/dev/loop-control"):
        return "needs loop devices"
    return ""


@unittest.skipIf(missing(), missing())
class CopyOnWrite(Disk):
    """A btrfs that is full has no room even for what is written in place."""
    BYTES = 128 << 20

    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="ff-hostile-")
        self.addCleanup(shutil.rmtree, self.disk)
        self.mnt = os.path.join(self.disk, "mnt")
        os.mkdir(self.mnt)
        self.mount(os.path.join(self.disk, "image"))
        self.top = {"cache_dir": os.path.join(self.mnt, "cache"),
                    "cache_size": "16M"}
        self.data, self.version, self.puts = bytearray(SIZE), 7, 0
        super().setUp()
        self.up.script(rpc.WRITE, self.write)

    def mount(self, image):
        with open(image, "w") as f:
            f.truncate(self.BYTES)
        for args in (["mkfs.btrfs", "-q", image],
                     ["mount", "-t", "btrfs", "-o", "loop", image, self.mnt]):
            out = subprocess.run(args, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            if out.returncode:
                self.skipTest("%s: %s" % (args[0], out.stdout))
        self.addCleanup(subprocess.run, ["umount", "-l", self.mnt],
                        check=True)

    # ---- the server

    def attr(self):
        return rpc.fattr(rpc.REG, 300, SIZE, ctime=(5, self.version))

    def content(self, offset, count):
        return bytes(self.data[offset:offset + count])

    def write(self, call):
        r = call.reader()
        r.opaque()
        offset = r.u64()
        r.u32(), r.u32()
        data = r.opaque()
        before = rpc.u64(SIZE) + u32(2, 0, 5, self.version)
        self.version += 1
        self.data[offset:offset + len(data)] = data
        return (u32(0, 1) + before + rpc.post_op(self.attr()) +
                u32(len(data), 2) + b"verifier")

    # ---- the disk

    def fill(self):
        """To the last byte; what is freed meanwhile is taken too."""
        for size in (1 << 20, 4096, 512, 4096, 512):
            try:
                with open(self.mnt + "/fill", "ab", buffering=0) as f:
                    while True:
                        f.write(b"\xaa" * size)
            except OSError as e:
                self.assertEqual(e.errno, errno.ENOSPC)
            subprocess.run(["sync", "-f", self.mnt])

    def empty(self):
        os.unlink(self.mnt + "/fill")
        subprocess.run(["sync", "-f", self.mnt], check=True)

    # ---- the client

    def put(self, client):
        offset = self.puts * PIECE % SIZE
        self.puts += 1
        self.assertEqual(rpc.status(client.call(rpc.WRITE, rpc.write_args(
            bytes([self.puts % 256]) * PIECE, FILE, offset))), 0)

    def traffic(self, client):
        """Everything that is read, written and changed is right."""
        for _ in range(3):
            self.put(client)
            self.get_all(client)
        self.changes()
        self.alive()

    def fills(self, client):
        """The disk, under traffic, and then for long."""
        filler = threading.Thread(target=self.fill)
        filler.start()
        self.addCleanup(filler.join)
        while filler.is_alive():
            self.traffic(client)
        for _ in range(3):
            self.flush()
            self.fill()
            self.traffic(client)

    def test_full(self):
        client = self.client_of_file()
        self.cached(client)
        self.fills(client)
        for end in (self.ff.stop, self.ff.kill):
            end()
            self.fill()
            self.ff.start()
            self.traffic(self.client_of_file())
        client = self.client_of_file()
        self.fills(client)
        poll(lambda: self.traffic(client) or self.problem(), "status says it")
        self.assertRegex(self.problem(), "is full|No space")
        self.empty()
        self.well_again()


if __name__ == "__main__":
    daemon.main()
