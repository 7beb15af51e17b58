#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines with a farm between them, before a real redis-server: what one had
from the server, the next one does not ask the server for."""
import concurrent.futures
import os
import shutil
import unittest

import daemon
import memfs
import rpc
from daemon import poll
from farm import FarmDaemon, Redis

HOUR = 3600
TRIP_S = 0.03  # the farm is asked where it is nearer than the server
USER, OTHER = 1000, 2000
CHUNK = 32768
SIZE = 200 << 10


@unittest.skipUnless(shutil.which("redis-server") and shutil.which("redis-cli"),
                     "no redis-server")
class Machines(unittest.TestCase):
    def setUp(self):
        self.up = memfs.FarServer(TRIP_S)
        self.addCleanup(self.up.close)
        self.data = os.urandom(SIZE)
        self.file = self.up.make("file", rpc.REG, self.data, age=HOUR,
                                 uid=USER, mode=0o600)
        first = self.machine()
        self.key = os.path.join(first.run, "key")
        with open(self.key, "wb") as f:
            f.write(bytes(range(32)))
        os.chmod(self.key, 0o600)
        self.redis = Redis(os.path.join(first.run, "redis"))
        self.addCleanup(self.redis.close)
        self.first = first

    def machine(self, **server):
        ff = FarmDaemon(self.up.port, {}, prefetch="off", **server)
        self.addCleanup(ff.close)
        return ff

    def start(self, ff, prefetch="off"):
        ff.farm = {"engine": "redis+unix://" + self.redis.path,
                   "key_file": self.key}
        ff.write_config(prefetch=prefetch)
        ff.start()
        poll(lambda: ff.status_of_farm()["state"] == "up", "up")
        client = ff.connect()
        self.addCleanup(client.close)
        return client

    def nfs(self, client, proc, args, uid=USER):
        return client.nfs(proc, args, cred=rpc.auth_sys(uid, uid))

    def open(self, client, uid=USER):
        st, _ = self.nfs(client, rpc.ACCESS, rpc.access_args(self.file.fh),
                         uid)
        self.assertEqual(st, 0)

    def read(self, client):
        """All of it, as the server has it."""
        got = b""
        for at in range(0, len(self.file.data), CHUNK):
            st, r = self.nfs(client, rpc.READ,
                             rpc.read_args(self.file.fh, at, CHUNK))
            self.assertEqual(st, 0)
            if r.u32():
                r.fixed(84)
            r.u32(), r.u32()
            got += r.opaque()
        self.assertEqual(got, self.file.data)

    def fill(self, prefetch="off"):
        """The first machine has it from the server, and ends at once."""
        client = self.start(self.first, prefetch)
        self.open(client)
        # Another user's call goes to the server, too: what is asked for
        # behind that is firm, since a grain of the server's clock has passed.
        self.open(client, OTHER)
        self.read(client)
        self.first.stop()
        return self.redis.kinds()

    def asked(self):
        return len(self.up.seen(rpc.READ))

    def second(self):
        ff = self.machine()
        return ff, self.start(ff)

    def reads_alone(self, reloads=0):
        """A machine that does not ask the server for any of it. The engine has
        a few milliseconds for each value: on a busy computer it may come late,
        and then the server is asked, so another machine tries."""
        def machine_that_does():
            ff, client = self.second()
            for _ in range(reloads):
                ff.hup()
            before = self.asked()
            self.open(client)
            self.read(client)
            return self.asked() == before and ff

        return poll(machine_that_does, "the engine has all of it")

    def test_data(self):
        self.assertEqual(self.fill().get("d"), 5)
        self.assertLess(0, self.reads_alone().counter("farm_bytes"))

    def test_learned(self):
        """All that it learned of each user is there, though it ended right
        behind its last call."""
        self.assertEqual(self.fill("on").get("t"), 2)
        ff = self.machine()
        client = self.start(ff, "on")
        self.open(client)
        poll(lambda: ff.counter("farm_trees") == 1, "it is taken over")

    def test_changed(self):
        self.fill()
        self.file.data = os.urandom(SIZE)
        self.file.mtime = self.file.ctime = self.up.clock()
        before = self.asked()
        _, client = self.second()
        self.open(client)
        self.read(client)
        self.assertLess(before, self.asked())

    def test_reload(self):
        """The server is called as before, and so are its values."""
        self.fill()
        self.reads_alone(reloads=3)

    def test_together(self):
        """Two that read at the same time: one waits for what the other one
        fetches, sooner or later."""
        both = [self.machine(), self.machine()]
        clients = [self.start(ff) for ff in both]

        def read_new_file():
            self.file = self.up.make("file", rpc.REG, os.urandom(SIZE),
                                     age=HOUR, uid=USER, mode=0o600)
            for client in clients:
                self.open(client)
                self.open(client, OTHER)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                list(pool.map(self.read, clients))
            return any(ff.counter("farm_waited") > ff.counter("farm_in_vain")
                       for ff in both)

        poll(read_new_file, "one waits, and gets it")

    def test_other_user(self):
        """The bytes are in the second machine's cache, and are not his."""
        self.fill()
        _, client = self.second()
        self.open(client)
        self.read(client)
        self.open(client, OTHER)
        st, _ = self.nfs(client, rpc.READ, rpc.read_args(
            self.file.fh, 0, CHUNK), OTHER)
        self.assertEqual(st, rpc.ACCES)

    def test_damaged(self):
        self.fill()
        for key in self.redis.ask("KEYS", "ff:*:d:*").split():
            self.redis.ask("SETRANGE", key, "100", "damage")
        before = self.asked()
        ff, client = self.second()
        self.open(client)
        self.read(client)
        self.assertLess(before, self.asked())
        self.assertLess(0, ff.counter("farm_bad"))

    def test_engine_hangs(self):
        self.fill()
        ff, client = self.second()
        self.open(client)
        self.redis.process.send_signal(19)
        self.read(client)
        self.redis.process.send_signal(18)
        self.assertEqual(ff.counter("farm_bad"), 0)

    def test_engine_dies(self):
        self.fill()
        _, client = self.second()
        self.open(client)
        self.redis.kill()
        self.read(client)


if __name__ == "__main__":
    daemon.main()
