#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache's disk fails, in every way: clients get right bytes, a little
later, and the daemon goes on."""
import glob
import os
import shutil
import time

import daemon
import rpc
from case_disk import FILE, GRAIN, PIECE, SIZE, Disk
from daemon import poll
from rpc import opaque, u32


class NotResident(Disk):
    """The kernel never says that a page is in memory."""

    def serves(self, fault):
        client = self.client_of_file()
        self.cached(client)
        self.fault(fault)
        before = self.reads()
        self.get_all(client)
        self.get_all(client)
        self.assertEqual(self.reads(), before)

    def test_mincore_refused(self):
        """As by systemd's filter of system calls."""
        self.serves("mincore-refused")

    def test_mincore_absent(self):
        """As where reads and mappings do not share pages."""
        self.serves("mincore-absent")


class Lost(Disk):
    """A write that failed later, when nobody was told."""

    def test_never_written(self):
        client = self.client_of_file()
        self.cached(client)
        for path in glob.glob(self.cache + "/nas/data/*.seg"):
            with open(path, "r+b") as f:
                f.write(bytes(os.path.getsize(path)))
        self.fault("mincore-absent")
        self.get_all(client)
        self.assertGreater(self.ff.counter("data_bad"), 0)


class Full(Disk):
    """Stores into a mapping of a full copy-on-write disk kill."""

    def test_no_stores_into_mappings(self):
        client = self.client_of_file()
        self.cached(client)
        self.assertEqual(
            rpc.status(client.call(rpc.MKDIR, rpc.mkdir_args("a"))), 0)
        with open("/proc/%d/maps" % self.ff.process.pid) as f:
            maps = [l.split() for l in f if self.cache in l]
        self.assertTrue(maps)
        self.assertEqual([m for m in maps if "w" in m[1]], [])


class Hangs(Disk):
    """The disk takes what it is asked, and does not answer."""

    def not_verified(self):
        """A file in the cache that a new daemon has not looked at."""
        self.cached(self.client_of_file())
        self.ff.stop()
        self.ff.start()
        return self.client_of_file()

    def test_server_answers(self):
        client = self.not_verified()
        before = self.reads()
        self.fault("hang-read")
        self.get(client)
        self.assertEqual(self.reads(), before + 1)
        self.assertIn("does not answer", self.problem())
        self.assertFalse(self.ff.control("status")["caches"]["disk_on"])
        # Nobody else waits for it …
        self.get_all(self.client_of_file())
        self.assertEqual(self.ff.counter("data_late"), 1)
        self.assertEqual(len(self.ff.lines("does not answer")), 1)
        # Data that came meanwhile is in memory.
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before)
        self.mend()
        poll(lambda: self.problem() == "", "the disk is back")

    def test_used_again(self):
        client = self.not_verified()
        self.fault("hang-read")
        self.get(client)
        self.mend()
        poll(lambda: self.problem() == "", "the disk is back")
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before)
        self.assertEqual(len(self.ff.lines("answers again")), 1)

    def test_status_answers(self):
        """All of it hangs: the loop does not."""
        client = self.not_verified()
        self.fault("hang")
        self.get_all(client)
        self.assertIn("does not answer", self.problem())
        self.assertEqual(
            rpc.status(client.call(rpc.MKDIR, rpc.mkdir_args("a"))), 0)


    def test_names_wait(self):
        """Nothing else wants the disk."""
        self.fault("hang")
        self.changes()
        poll(lambda: "does not answer" in self.problem(), "status says it", 20)
        self.changes()
        self.mend()
        poll(lambda: self.problem() == "", "the disk is back")
        self.assertEqual(len(self.ff.lines("warn", "names wait")), 1)


class Unreadable(Disk):
    """Data that waits to be sent cannot be read any more."""

    def test_segment(self):
        client = self.client_of_file()
        self.cached(client)
        slow = self.connect(rcvbuf=8192)
        for offset in range(0, 8 * SIZE, PIECE):
            slow.send(rpc.READ, rpc.read_args(FILE, offset % SIZE, PIECE))
        poll(lambda: self.gauge("data_disk_bytes") > 0 and
             self.ff.control("status")["clients"], "it answers")
        for path in glob.glob(self.cache + "/nas/data/*.seg"):
            os.truncate(path, 0)
        with self.assertRaises((rpc.Closed, OSError)):
            for offset in range(0, 8 * SIZE, PIECE):
                self.right(slow.recv(), offset % SIZE, PIECE)
        self.alive()
        self.get_all(self.connect())
        self.assertGreater(self.ff.counter("data_bad"), 0)
        # It is cached again.
        self.cached(client)
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before)


class Start(Disk):
    """The disk is not well when the daemon starts."""

    def starts(self, fault, text):
        self.cached(self.client_of_file())
        self.ff.stop()
        self.fault(fault)
        self.ff.start()
        client = self.client_of_file()
        for _ in range(2):
            self.get_all(client)
        self.changes()
        self.assertIn(text, self.problem())
        self.assertRegex(
            self.check(), "(?m)^nas: the cache on disk is off for .*" + text)
        self.assertFalse(self.ff.control("status")["caches"]["disk_on"])
        self.assertEqual(
            len(self.ff.lines("warn", "no data is kept on disk", text)), 1)
        self.well_again()
        self.assertEqual(
            len(self.ff.lines("data is kept on disk again")), 1)

    def test_io_error(self):
        self.starts("eio", "Input/output error")

    def test_read_only(self):
        self.starts("erofs", "Read-only file system")

    def test_hangs(self):
        self.starts("hang", "does not answer")

    def test_first_start_on_a_full_disk(self):
        self.ff.stop()
        shutil.rmtree(self.cache)
        self.fault("enospc")
        self.ff.start()
        self.get_all(self.client_of_file())
        self.changes()
        self.assertIn("No space left on device", self.problem())
        self.well_again()

    def test_full_disk(self):
        """Files that are there are served."""
        self.cached(self.client_of_file())
        self.ff.stop()
        self.fault("enospc")
        self.ff.start()
        client = self.client_of_file()
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before, self.ff.log())
        self.changes()

    def test_learned_before_is_kept(self):
        """A late disk's files are read, and not written over."""
        self.ff.stop()
        self.fault("eio")
        self.ff.start()
        self.get_all(self.client_of_file())
        self.well_again()
        self.ff.stop()
        self.ff.start()
        client = self.client_of_file()
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before)


class Detached(Disk):
    """A daemon without its disk made changes, and was killed. What the disk has
    was whole before that, and is not now; the mode is frozen."""

    def attr(self):
        return rpc.fattr(rpc.REG, 300, self.size,
                         ctime=(5, 7) if self.size else (50, 9))

    def start_daemon(self, **kw):
        self.size = SIZE
        self.up.script(rpc.SETATTR, self.cut)
        return super().start_daemon(**kw)

    def cut(self, call):
        self.size = 0
        return u32(0, 0) + rpc.post_op(self.attr())

    def asked_size(self):
        with self.ff.connect() as c:
            st, r = c.nfs(rpc.GETATTR, opaque(FILE))
            self.assertEqual(st, 0)
            r.fixed(20)
            return r.u64()

    def test_own_change_is_seen(self):
        self.cached(self.client_of_file())
        self.assertEqual(self.asked_size(), SIZE)
        self.ff.stop()
        self.fault("eio")
        self.ff.start()
        with self.ff.connect() as c:
            self.assertEqual(rpc.status(c.call(
                rpc.SETATTR, rpc.setattr_args(FILE, rpc.sattr(size=0)))), 0)
        self.ff.kill()
        self.mend()
        self.ff.start()
        self.assertEqual(self.asked_size(), 0)

    def test_a_good_end_is_believed(self):
        """Or the test above would show nothing."""
        self.cached(self.client_of_file())
        self.ff.stop()
        self.ff.start()
        self.size = 0
        self.assertEqual(self.asked_size(), SIZE)


class OfAnotherServer(Disk):
    """The disk has data of the address that was configured before."""
    FILES = 4200  # more than are forgotten at once
    AT_ONCE = 64

    def attr(self, fileid=300):
        return rpc.fattr(rpc.REG, fileid, SIZE, ctime=(5, 7))

    def before_start(self):
        def fileid(call):
            return int(call.reader().opaque()[-8:])
        self.up.script(
            rpc.GETATTR, lambda call: u32(0) + self.attr(fileid(call)))
        self.up.script(
            rpc.READ, lambda call: u32(0) + rpc.post_op(
                self.attr(fileid(call))) + u32(8, 0) + opaque(b"contents"))

    def ask_of_all(self, client, proc, args):
        for first in range(0, self.FILES, self.AT_ONCE):
            some = range(first, min(first + self.AT_ONCE, self.FILES))
            for i in some:
                client.send(proc, args(b"file-%08d" % (1000 + i)))
            for _ in some:
                self.assertEqual(rpc.status(client.recv()), 0)

    def test_memory_is_given_back(self):
        client = self.connect()
        self.ask_of_all(client, rpc.GETATTR, opaque)
        time.sleep(GRAIN)
        self.ask_of_all(client, rpc.READ,
                        lambda fh: rpc.read_args(fh, 0, 8))
        self.written()
        self.assertEqual(self.gauge("data_files"), self.FILES)
        before = self.gauge("data_memory_bytes")
        self.ff.stop()
        self.ff.write_config(address="127.0.0.2")
        self.ff.start()
        self.assertEqual(self.gauge("data_files"), 0)
        poll(lambda: self.gauge("data_memory_bytes") < before / 2,
             "the memory is given back")


class Running(Disk):
    """The disk fails under a daemon that uses it."""

    def fails(self, fault, text):
        client = self.client_of_file()
        self.cached(client)
        self.fault(fault)
        # Enough for several segments.
        for _ in range(8):
            self.flush()
            self.get_all(self.client_of_file())
        self.changes()
        self.alive()
        poll(lambda: text in self.problem(), "status says " + text)
        self.well_again()

    def test_io_error(self):
        self.fails("eio", "Input/output error")

    def test_read_only(self):
        self.fails("erofs", "Read-only file system")

    def test_full(self):
        self.fails("enospc", "is full")


if __name__ == "__main__":
    daemon.main()
