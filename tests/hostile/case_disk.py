# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon with a cache on disk, whose disk fails when a test asks for it."""
import glob
import os
import subprocess
import time

import daemon
import rpc
from daemon import poll
from rpc import opaque, u32

FILE = b"file-handle-0001"
SIZE = 1 << 20
PIECE = 1 << 16
GRAIN = 0.02  # seconds; what is read later is kept over a restart


class Daemon(daemon.Daemon):
    """Its loop, which all clients wait for, must never wait for the disk; only
    at its end it may."""

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.faults = os.path.join(self.dir, "faults")
        os.mkdir(self.faults)
        self.cache = self.top["cache_dir"]
        # LD_PRELOAD is a list: its paths have no blanks.
        preload = os.path.join(self.dir, "faults.so")
        os.symlink(os.path.join(daemon.BUILD, "tests", "faults.so"), preload)
        self.env = {"LD_PRELOAD": preload, "FF_FAULTS": self.faults,
                    "FF_FAULTS_DISK": self.cache}

    def fault(self, name):
        open(os.path.join(self.faults, name), "w").close()

    def mend(self):
        for name in glob.glob(self.faults + "/*"):
            if os.path.basename(name) != "leaves":
                os.unlink(name)

    def start(self):
        if os.path.exists(self.faults + "/leaves"):
            os.unlink(self.faults + "/leaves")
        return super().start()

    def stop(self):
        self.fault("leaves")
        super().stop()

    def close(self):
        waited = ""
        if os.path.exists(self.cache + ".loop"):
            with open(self.cache + ".loop") as f:
                waited = f.read()
        super().close()
        if waited:
            raise AssertionError("the loop waited for the disk:\n" + waited)


class Disk(daemon.Case):
    """A daemon whose cache_dir is on a disk with faults, see faults.c."""
    settings = {"prefetch": "off", "consistency": "frozen"}
    top = {}

    def start_daemon(self, **kw):
        ff = Daemon(self.up.port, daemon=self.top, **kw)
        self.addCleanup(ff.close)
        self.addCleanup(ff.mend)
        self.cache, self.fault, self.mend = ff.cache, ff.fault, ff.mend
        self.up.script(rpc.GETATTR, lambda call: u32(0) + self.attr())
        self.up.script(rpc.ACCESS, lambda call: u32(0) + rpc.post_op(
            self.attr()) + u32(0x3f))
        self.up.script(rpc.READ, self.read)
        self.before_start()
        return ff.start()

    def before_start(self):
        pass

    def attr(self):
        return rpc.fattr(rpc.REG, 300, SIZE, ctime=(5, 7))

    def read(self, call):
        r = call.reader()
        r.opaque()
        offset, count = r.u64(), r.u32()
        n = max(0, min(count, SIZE - offset))
        return (u32(0) + rpc.post_op(self.attr()) +
                u32(n, int(offset + n == SIZE)) +
                opaque(self.content(offset, n)))

    def content(self, offset, count):
        """Of the file, on the server."""
        return rpc.pattern(offset, count)

    def right(self, reply, offset, count):
        self.assertEqual(rpc.status(reply), 0)
        r = rpc.Reader(reply.body)
        self.assertEqual(r.u32(), 0)
        if r.u32():
            r.fixed(84)
        self.assertEqual(r.u32(), count)
        r.u32()
        self.assertEqual(r.opaque(), self.content(offset, count))

    def get(self, client, offset=0, count=PIECE):
        self.right(client.call(rpc.READ, rpc.read_args(FILE, offset, count)),
                   offset, count)

    def get_all(self, client):
        for offset in range(0, SIZE, PIECE):
            self.get(client, offset)

    def client_of_file(self):
        """One that has opened the file."""
        client = self.connect()
        client.nfs(rpc.GETATTR, opaque(FILE))
        client.nfs(rpc.ACCESS, rpc.access_args(FILE))
        time.sleep(GRAIN)
        return client

    def reads(self):
        return len(self.up.seen(rpc.READ))

    def gauge(self, name):
        return self.ff.control("stats")["gauges"][name]

    def written(self):
        """All that was added is on disk."""
        poll(lambda: self.gauge("data_pending_bytes") == 0, "it is written")

    def cached(self, client):
        """The file, read and written to the cache."""
        self.get_all(client)
        self.written()

    def problem(self):
        return self.ff.control("status")["caches"]["disk_problem"] or ""

    def check(self):
        """Returns the output of `forefetch status --check`."""
        return subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "status",
             "--check"], env=daemon.environment(), text=True,
            stdout=subprocess.PIPE).stdout

    def flush(self):
        """Has the daemon try at once whatever is broken, and not in half a
        minute."""
        subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, "drop"],
            env=daemon.environment(), stdout=subprocess.DEVNULL, check=True)

    def well_again(self):
        """Data is kept on disk, by the daemon that was there all the time."""
        pid = self.ff.process.pid
        self.mend()
        self.flush()
        poll(lambda: self.problem() == "", "the disk is used")
        self.assertTrue(self.ff.control("status")["caches"]["disk_on"])
        client = self.client_of_file()
        self.cached(client)
        before = self.reads()
        self.get_all(client)
        self.assertEqual(self.reads(), before)
        self.assertGreater(self.gauge("data_disk_bytes"), SIZE)
        self.assertEqual(self.ff.process.pid, pid)
        self.alive()

    def changes(self):
        """Clients notice nothing."""
        with self.ff.connect() as c:
            self.assertEqual(rpc.status(c.call(
                rpc.MKDIR, rpc.mkdir_args("d%d" % next(rpc.Client.xids)))), 0)

    def alive(self):
        self.assertIsNone(self.ff.process.poll(), self.ff.log())
