#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers come, change and go while clients are connected and calls are in
flight; nobody else notices, and what happened is told."""
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import rpc
from case_reload import Reload
from daemon import poll
from fakeserver import HOLD
from rpc import opaque


class Comes(Reload):
    def test_added_and_removed(self):
        inside = self.connect()
        port = self.add()
        self.assertEqual(self.servers(), ["nas", "two"])
        os.unlink(self.own + "/two.conf")
        self.assertEqual(self.kinds(), {("two", ""): "removed"})
        self.assertEqual(self.servers(), ["nas"])
        self.refused(port)
        # Its cache stays, for when it comes back.
        poll(lambda: os.path.exists(self.ff.top["cache_dir"] +
                                    "/two/names.whole"), "names are saved")
        # Who was connected to the other one still is.
        self.assertEqual(rpc.status(inside.call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)

    def test_never_reached(self):
        """All that was made for a server that never answered, as for a name
        that was mistyped, goes with it."""
        port = fakeserver.free_port()
        path = self.put("typo", port, nfs_port=fakeserver.free_port(),
                        mount_port=fakeserver.free_port())
        self.assertEqual(self.kinds(), {("typo", ""): "added"})
        made = [self.ff.top["cache_dir"] + "/typo", self.ff.run + "/typo.drc"]
        poll(lambda: os.path.exists(made[0] + "/whose"), "it has a folder")
        os.unlink(path)
        self.assertEqual(self.kinds(), {("typo", ""): "removed"})
        poll(lambda: not any(map(os.path.lexists, made)), "all of it is gone")
        # A folder that was there before is not its own.
        os.mkdir(made[0], 0o700)
        self.put("typo", port, nfs_port=fakeserver.free_port())
        self.assertEqual(self.kinds(), {("typo", ""): "added"})
        os.unlink(path)
        self.assertEqual(self.kinds(), {("typo", ""): "removed"})
        self.put("typo", port)
        self.assertEqual(self.kinds(), {("typo", ""): "added"})
        self.works(port)
        self.assertTrue(os.path.exists(made[0]))
        self.assertEqual(self.ff.lines("error"), [])

    def test_text(self):
        port = fakeserver.free_port()
        path = self.put("two", port)
        done = self.forefetch("reload")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "server two: added\n", ""))
        done = self.forefetch("reload")
        self.assertEqual(done.stdout, "nothing changed\n")
        with open(path, "a") as f:
            f.write("prefetch = sometimes\n")
        done = self.forefetch("reload")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"forefetch: the configuration was not "
                         r"applied: .*/two.conf:7: \[server two\] prefetch: ")
        self.assertRegex(self.forefetch("status", "--check").stdout,
                         "two.conf:7")
        self.works(port)

    def test_what_needs_a_restart_is_no_failure(self):
        """Until it is restarted, or the setting is put back; all else is taken
        up meanwhile."""
        status = lambda: json.loads(self.forefetch("status", "--json").stdout)
        port = fakeserver.free_port()
        self.put("two", port)
        self.ff.top["metrics_listen"] = "127.0.0.1:1"
        self.ff.write_config()
        for _ in range(2):
            done = self.forefetch("reload")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr,
                             "^forefetch: metrics_listen: a restart is needed")
            self.assertIsNone(status()["reload_error"])
            self.assertEqual(status()["reload_restart"], "metrics_listen")
        self.works(port)
        self.assertIn("\na restart is needed for metrics_listen\n",
                      self.forefetch("status").stdout)
        done = self.forefetch("status", "--check")
        self.assertEqual((done.returncode, done.stdout), (
            0, "warning: a restart is needed for metrics_listen\n"))
        # A file with an error changes nothing of that.
        with open(self.own + "/bad.conf", "w") as f:
            f.write("nonsense = 1\n")
        self.assertEqual(self.forefetch("reload").returncode, 1)
        self.assertEqual(status()["reload_restart"], "metrics_listen")
        os.unlink(self.own + "/bad.conf")
        del self.ff.top["metrics_listen"]
        self.ff.write_config()
        self.assertEqual(self.kinds(), {})
        self.assertIsNone(status()["reload_restart"])

    def test_comes_and_goes(self):
        """All is saved when it goes, and found when it comes back."""
        self.other.make(b"known", rpc.REG)
        with rpc.Client(self.add()) as c:
            self.assertEqual(c.nfs(rpc.LOOKUP, rpc.lookup_args("known"))[0],
                             0)
        with open(self.own + "/two.conf") as f:
            text = f.read()
        whole = self.ff.top["cache_dir"] + "/two/names.whole"
        for _ in range(5):
            os.unlink(self.own + "/two.conf")
            self.reload()
            poll(lambda: os.path.exists(whole), "all names are saved")
            with open(self.own + "/two.conf", "w") as f:
                f.write(text)
            self.assertEqual(self.kinds(), {("two", ""): "added"})
            self.assertFalse(os.path.exists(whole))
        self.assertEqual(self.ff.lines("set aside"), [])

    def test_first_one(self):
        """A daemon may begin with none."""
        os.unlink(self.ff.file)
        with open(self.ff.file, "w") as f:
            f.write("[forefetch]\n")
            f.writelines("%s = %s\n" % kv for kv in self.ff.top.items())
        self.assertEqual(self.kinds(), {("nas", ""): "removed"})
        self.assertEqual(self.servers(), [])
        done = self.forefetch("status")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no server is configured", done.stdout)
        self.assertEqual(self.forefetch("stats").returncode, 0)
        self.assertEqual(self.forefetch("flush").returncode, 0)
        self.add()
        self.ff.write_config()
        self.assertEqual(self.kinds(), {("nas", ""): "added"})
        self.bystander()

    def test_port_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            taken = s.getsockname()[1]
            port = fakeserver.free_port()
            self.put("bad", taken)
            self.put("good", port)
            changes = self.reload(1)
            self.assertEqual(changes[("good", "")][0], "added")
            kind, why = changes[("bad", "")]
            self.assertEqual(kind, "failed")
            self.assertRegex(why, "listen = .*port is taken by")
            self.works(port)
            self.assertEqual(self.servers(), ["nas", "good"])
        # It is tried again with the next reload, though nothing changed.
        self.assertEqual(self.kinds(), {("bad", ""): "added"})
        self.works(taken)

    def test_only_the_owner(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to be somebody else")
        done = subprocess.run(
            ["setpriv", "--reuid", "12345", "--clear-groups",
             daemon.binary("forefetch"), "--socket", self.ff.socket,
             "reload"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=daemon.environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn("only root and the user", done.stdout)

    def test_bad_files(self):
        path = self.own + "/x.conf"
        os.mkfifo(path)
        self.assertEqual(self.kinds(1), {("", ""): "failed"})
        os.unlink(path)
        os.symlink("nowhere", path)
        self.assertEqual(self.kinds(1), {("", ""): "failed"})
        os.unlink(path)
        with open(path, "w") as f:
            f.write("[server nas]\n")
        (why,) = [why for kind, why in self.reload(1).values()]
        self.assertRegex(why, r"/x.conf:1: \[server nas\]: duplicate section; "
                         r"the first is at .*/conf:\d+")
        os.unlink(path)
        self.assertEqual(self.kinds(), {})
        self.bystander()


class Changes(Reload):
    def test_settings(self):
        inside = self.connect()
        self.ff.write_config(prefetch="off", exports="/src")
        self.assertEqual(self.kinds(), {("nas", "prefetch"): "changed",
                                        ("nas", "exports"): "changed"})
        self.assertEqual(rpc.status(inside.call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)

    def test_needs_restart(self):
        old = self.ff.top["cache_dir"]
        self.ff.top["cache_dir"] = self.ff.dir + "/other"
        self.ff.write_config(attr_timeout="1s")
        for _ in range(2):
            # All else is taken up, and it is told each time.
            changes = self.kinds()
            self.assertEqual(changes.pop(("", "cache_dir")), "needs-restart")
        self.assertEqual(changes, {})
        self.assertFalse(os.path.exists(self.ff.dir + "/other"))
        self.assertEqual(self.ff.control("status")["attr_timeout_us"],
                         1000000)
        self.ff.top["cache_dir"] = old
        self.ff.write_config()
        self.assertEqual(self.kinds(), {})
        self.assertIn(": reloaded", self.ff.hup())

    def test_replaced(self):
        """Its clients connect again to the socket that was there all the
        time; calls in flight are answered first."""
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
        c, idle = self.connect(), self.connect()
        c.send(rpc.READ, rpc.read_args(count=64), xid=5)
        self.up.wait(rpc.READ)
        self.ff.write_config(connections=5)
        results = []
        t = threading.Thread(target=lambda: results.append(self.reload()))
        t.start()
        # It leaves: nothing new is taken, but one can connect.
        poll(lambda: self.servers() == [], "it leaves")
        late = self.connect()
        late.send(rpc.GETATTR, opaque(rpc.ROOT), xid=6)
        self.up.script(rpc.READ, None)
        held[0].reply(rpc.read_ok(rpc.pattern(0, 64)))
        reply = c.recv()
        self.assertEqual((reply.xid, reply.body[20:]),
                         (5, rpc.pattern(0, 64)))
        self.assertEqual(late.recv().xid, 6)
        t.join()
        self.assertEqual(results[0][("nas", "connections")][0], "changed")
        self.assertTrue(c.is_closed())
        self.assertTrue(idle.is_closed())
        self.bystander()

    def paused(self):
        out = self.forefetch("status", "--json").stdout
        return {s["name"]: s["hold"]["paused"]
                for s in json.loads(out)["servers"]}

    def test_pause_stays(self):
        """Of all servers: also for those that come; of one: for whoever takes
        its place."""
        self.forefetch("pause", "--for", "1h 30 minutes")
        self.add()
        self.assertEqual(self.paused(), {"nas": True, "two": True})
        self.assertEqual(self.forefetch("resume", "two").returncode, 0)
        self.put("two", fakeserver.free_port())
        self.reload()
        self.assertEqual(self.paused(), {"nas": True, "two": False})
        self.forefetch("resume")
        self.forefetch("pause", "two")
        self.put("two", fakeserver.free_port())
        self.put("three", fakeserver.free_port())
        self.reload()
        self.assertEqual(self.paused(),
                         {"nas": False, "two": True, "three": False})

    def test_listens_elsewhere(self):
        second, third = fakeserver.free_port(), fakeserver.free_port()
        first = self.ff.port
        self.ff.write_config(listen="127.0.0.1:%d 127.0.0.1:%d" %
                             (first, second))
        self.assertEqual(self.kinds(), {("nas", "listen"): "changed"})
        self.works(first)
        self.works(second)
        self.ff.write_config(listen="127.0.0.1:%d 127.0.0.1:%d" %
                             (second, third))
        self.reload()
        self.works(second)
        self.works(third)
        self.refused(first)
        self.ff.write_config(listen="127.0.0.1:%d" % first)
        self.reload()
        self.bystander()

    def test_ports_change_hands(self):
        port = self.add()
        self.ff.write_config(listen="127.0.0.1:%d" % port)
        self.put("two", self.ff.port)
        self.reload()
        self.works(port)
        self.works(self.ff.port)

    def test_another_address(self):
        """The daemon forgets what the former server's handles said."""
        inside = self.connect()
        self.assertEqual(rpc.status(inside.call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.ff.write_config(nfs_port=self.other.port,
                             mount_port=self.other.port)
        self.assertEqual(self.kinds(), {("nas", "nfs_port"): "changed",
                                        ("nas", "mount_port"): "changed"})
        before = len(self.other.seen(rpc.READ))
        self.bystander()
        self.assertGreater(len(self.other.seen(rpc.READ)), before)

    def test_sizes(self):
        """The shares of all are never more than the whole."""
        self.add()
        for size in ("64M", "16M", "1G"):
            self.ff.top["cache_size"] = size
            self.ff.top["memory_size"] = size
            self.ff.write_config()
            self.assertEqual(self.kinds(), {("", "cache_size"): "changed",
                                            ("", "memory_size"): "changed"})
            whole = int(size[:-1]) << (20 if size[-1] == "M" else 30)
            status = json.loads(self.forefetch("status", "--json").stdout)
            caches = [s["caches"] for s in status["servers"]]
            disk = sum(c["disk_limit_bytes"] for c in caches)
            memory = sum(c["memory_limit_bytes"] for c in caches)
            self.assertTrue(whole * 0.9 < disk <= whole, (size, disk))
            self.assertTrue(whole / 4 <= memory <= whole, (size, memory))


class Goes(Reload):
    def test_server_that_is_away(self):
        """Its calls are cut off; nobody else waits for that."""
        port = self.add()
        c = rpc.Client(port)
        self.addCleanup(c.close)
        self.other.script(rpc.READ, HOLD)
        c.send(rpc.READ, rpc.read_args(offset=4096, count=64))
        self.other.wait(rpc.READ, 2)
        self.other.down()
        os.unlink(self.own + "/two.conf")
        begun = time.monotonic()
        self.assertEqual(self.kinds(), {("two", ""): "removed"})
        self.assertLess(time.monotonic() - begun, 2)
        self.bystander()
        self.refused(port)
        self.assertTrue(c.is_closed())
        poll(lambda: self.ff.lines("server=two", "with calls in flight"),
             "it says so")
        # The name is free again.
        self.other.up()
        self.other.script(rpc.READ, None)
        self.works(self.port_of("two"))

    def port_of(self, name):
        port = fakeserver.free_port()
        self.put(name, port)
        self.assertEqual(self.kinds(), {(name, ""): "added"})
        return port

    def test_what_was_begun_ends(self):
        """A trace of the one that goes ends; that of another goes on."""
        self.add()
        files = [os.path.join(self.ff.dir, n) for n in ("nas", "two")]
        for path in files:
            done = self.forefetch("trace", "--server",
                                  os.path.basename(path), "start", path)
            self.assertEqual(done.returncode, 0, done.stderr)
        os.unlink(self.own + "/two.conf")
        self.reload()
        self.bystander()
        done = self.forefetch("trace", "--server", "nas", "stop")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_stop_while_it_leaves(self):
        port = self.add()
        c = rpc.Client(port)
        self.addCleanup(c.close)
        self.other.script(rpc.READ, HOLD)
        c.send(rpc.READ, rpc.read_args(offset=4096, count=64))
        self.other.wait(rpc.READ, 2)
        os.unlink(self.own + "/two.conf")
        self.reload()
        self.ff.process.terminate()
        self.assertEqual(self.ff.process.wait(9), 0)


class Often(Reload):
    CALLS = 4000 if daemon.SLOW else 400

    def test_a_hundred(self):
        """Clients of one server go on, without an error or a new
        connection, while others come, change and go."""
        done = threading.Event()
        failed = []

        def call_on():
            n = 0
            with self.ff.connect() as c:
                while not done.is_set():
                    st, r = c.nfs(rpc.READ, rpc.read_args(
                        offset=n % 64 * 4096, count=64))
                    if st != 0 or not r.rest().endswith(
                            rpc.pattern(n % 64 * 4096, 64)):
                        failed.append(st)
                    n += 1

        def guarded():
            try:
                call_on()
            except Exception as e:
                failed.append(e)
        threads = [threading.Thread(target=guarded) for _ in range(3)]
        for t in threads:
            t.start()
        try:
            ports = [fakeserver.free_port() for _ in range(4)]
            rss = []
            for i in range(100):
                name = "s%d" % (i % 4)
                if i % 8 < 4:
                    self.put(name, ports[i % 4], connections=i % 3 + 1)
                elif i % 3:
                    self.put(name, ports[i % 4], connections=i % 5 + 1,
                             prefetch="off")
                else:
                    path = self.own + "/" + name + ".conf"
                    if os.path.exists(path):
                        os.unlink(path)
                self.reload()
                rss.append(self.ff.rss_kib())
        finally:
            done.set()
            for t in threads:
                t.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.ff.lines("error "), [])
        # The sanitizer keeps what was freed for a while.
        with open(daemon.binary("forefetchd"), "rb") as f:
            asan = b"__asan" in f.read()
        if not asan:
            # Memory rises and falls with the servers that are there.
            self.assertLess(max(rss[50:]), max(rss[:50]) + 4096, rss)
        self.bystander()

    def test_hup_storm(self):
        """Those that come while one is under way are one more."""
        self.put("two", fakeserver.free_port())
        before = self.ff.log().count("reloaded")
        for _ in range(200):
            self.ff.process.send_signal(1)
        self.assertIn(self.kinds().get(("two", "")), ("added", None))
        self.assertEqual(self.servers(), ["nas", "two"])
        self.assertLessEqual(self.ff.log().count("reloaded") - before, 201)
        self.bystander()

    def test_many_ask_at_once(self):
        port = fakeserver.free_port()
        self.put("two", port)
        runs = [subprocess.Popen(
            [daemon.binary("forefetch"), "--socket", self.ff.socket,
             "reload"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=daemon.environment()) for _ in range(10)]
        out = [p.communicate(timeout=40)[0] for p in runs]
        self.assertEqual([p.returncode for p in runs], [0] * 10, out)
        self.assertEqual(out.count("server two: added\n"), 1, out)
        self.works(port)


if __name__ == "__main__":
    daemon.main()
