#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration, signals, start and stop: what is wrong is said plainly, by
an exit code and a sentence, and harms nothing that runs."""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import daemon
import fakeserver
import rpc
from daemon import poll
from fakeserver import HOLD
from rpc import opaque

GOOD = """[forefetch]
cache_dir = %(dir)s/cache
control_socket = %(dir)s/control.sock
[server nas]
address = 127.0.0.1
nfs_port = 1
mount_port = 1
listen = 127.0.0.1:%(port)d
secure = no
"""


class Arguments(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ff-hostile-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.port = fakeserver.free_port()

    def write(self, *lines, good=True):
        path = os.path.join(self.dir, "conf")
        with open(path, "w") as f:
            if good:
                f.write(GOOD % {"dir": self.dir, "port": self.port})
            f.write("\n".join(lines) + "\n")
        return path

    def check(self, code, text, *args):
        done = daemon.run(*args)
        self.assertEqual(done.returncode, code, done.stdout)
        self.assertRegex(done.stdout, text)
        for mark in daemon.MARKS:
            self.assertNotIn(mark, done.stdout)

    def wrong(self, text, *lines, good=True):
        path = self.write(*lines, good=good)
        for args in (["-t"], ["-F"], []):
            self.check(2, text, *args, "-f", path)

    def test_good_file(self):
        path = self.write()
        self.check(0, "no errors found", "-t", "-f", path)
        self.check(0, "listen = 127.0.0.1:%d" % self.port, "-t", "-v", "-f",
                   path)
        # Nothing was made.
        self.assertEqual(os.listdir(self.dir), ["conf"])

    def test_usage(self):
        self.check(2, "usage:", "-x")
        self.check(2, "usage:", "-f")
        self.check(2, "unexpected argument: more", "more")
        self.check(2, "-v is for -t only", "-v")
        self.check(0, "usage:", "-h")
        self.check(0, r"forefetchd \d", "-V")

    def test_no_file(self):
        self.check(2, "No such file", "-t", "-f", self.dir + "/none")
        self.check(2, "directory", "-t", "-f", self.dir)

    def test_empty_file(self):
        """It waits for servers, which may come with a reload."""
        path = self.write(good=False)
        self.check(0, "conf: no errors found", "-t", "-f", path)

    def test_several_errors(self):
        """-t tells of all, a start too."""
        self.wrong("(?s)conf:10: .*secrue: unknown.*conf:11: .*conections:",
                   "secrue = no", "conections = 3")

    def test_former_names(self):
        """They are understood, and the line is named where the new name is."""
        with open(self.write()) as f:
            text = f.read().replace("control_socket =", "control =")
        path = self.write(text, "prefetch_cap = 2 Mbit/s", good=False)
        for args in (["-t"], ["-t", "-v"]):
            self.check(0, r"(?s)conf line=3: \[forefetch\] control is called "
                       r"control_socket now.*conf line=\d+: \[server nas\] "
                       r"prefetch_cap is called prefetch_rate", *args,
                       "-f", path)
        self.check(0, "prefetch_rate = 2mbit", "-t", "-v", "-f", path)
        self.wrong("prefetch_rate: duplicate key; 'prefetch_cap' is the former",
                   "prefetch_cap = 50%", "prefetch_rate = 50%")

    def test_more_than_there_is(self):
        for line, what in (("cache_size = 1000T", "the disk of cache_dir has"),
                           ("memory_size = 1T", "this machine has")):
            with open(self.write()) as f:
                text = f.read()
            path = self.write("[forefetch]\n" + line + text.replace(
                "[forefetch]", ""), good=False)
            self.check(0, "warning: .* MiB, and %s .*(?s:.)*no errors" % what,
                       "-t", "-f", path)

    def test_key_of_a_farm(self):
        """Without it the daemon starts and shares nothing; -t says so."""
        key = os.path.join(self.dir, "key")
        path = self.write("[farm]", "engine = redis://127.0.0.1",
                          "key_file = " + key)
        self.check(0, r"warning: \[farm\] key_file: .*no such file(?s:.)*no errors",
                   "-t", "-f", path)
        with open(key, "w") as f:
            f.write("0123456789abcdef" * 4 + "\n")
        os.chmod(key, 0o600)
        self.check(0, r"\A(?!(?s:.*)key_file)(?s:.*)no errors", "-t", "-f", path)

    def test_directories(self):
        path = self.write()
        own, run = path + ".d", os.path.join(self.dir, "run")
        os.mkdir(own)
        os.mkdir(run)
        with open(own + "/b.conf", "w") as f:
            f.write("[server b]\naddress = b\nlisten = 127.0.0.1:1\n")
        self.check(0, r"(?s)server nas.*server b", "-t", "-v", "-f", path)
        with open(run + "/c.conf", "w") as f:
            f.write("[server b]\naddress = c\nlisten = 127.0.0.1:2\n")
        self.check(0, "b.conf: no errors", "-t", "-f", path)
        self.check(2, r"run/c.conf:1: \[server b\]: duplicate section; the "
                   "first is at .*conf.d/b.conf:1", "-t", "-f", path,
                   "--run-dir", run)
        self.check(2, "usage:", "--run-dir")
        os.unlink(run + "/c.conf")
        os.mkfifo(run + "/c.conf")
        for args in (["-t"], ["-F"]):
            self.check(2, "run/c.conf: it is not a file", "-f", path,
                       "--run-dir", run, *args)

    def test_errors_name_file_line_and_key(self):
        where = r"conf:10: \[server nas\] "
        self.wrong(where + "lisen: unknown key; did you mean 'listen'",
                   "lisen = 127.0.0.1:1")
        self.wrong(where + "listen: duplicate key", "listen = 127.0.0.1:1")
        self.wrong(where + "connections:", "connections = 17")
        self.wrong(where + "connections:", "connections = -1")
        self.wrong(where + "attr_timeout:", "attr_timeout = soon")
        self.wrong(where + "allow:", "allow = 300.0.0.0/8")
        self.wrong(where + "allow:", "allow = 127.0.0.0/33")
        self.wrong(where + "exports:", "exports = home")

    def test_garbage(self):
        self.wrong("conf:10: .*control character", "a\x01b = 1")
        self.wrong("conf:10: .*KEY = VALUE", "just words")
        self.wrong("conf:10: .*", "[server")
        self.wrong("conf:10: .*", "[unknown section]")
        self.wrong("conf:10: .*too long", "exports = /" + "x" * 5000)

    def test_two_servers_at_one_port(self):
        self.wrong("taken by", "[server two]", "address = 127.0.0.1",
                   "listen = 127.0.0.1:%d" % self.port)

    def test_binary_file(self):
        path = os.path.join(self.dir, "conf")
        with open(path, "wb") as f:
            f.write(bytes(range(256)) * 64)
        self.check(2, "conf", "-t", "-f", path)


class Hup(daemon.Case):
    def rewrite(self, text):
        with open(self.ff.file, "w") as f:
            f.write(text)

    def test_bad_file_keeps_the_old_one(self):
        for text in ("", "[server nas]\nlisten = nowhere\n", "\0" * 100):
            self.rewrite(text)
            self.assertRegex(self.ff.hup(), "error .*not reloaded: .*conf")
            self.bystander()

    def test_missing_file_keeps_the_old_one(self):
        os.unlink(self.ff.file)
        self.assertRegex(self.ff.hup(), "error .*not reloaded: .*No such")
        self.bystander()

    def test_allow(self):
        inside = self.connect(source="127.0.0.2")
        self.assertEqual(rpc.status(
            inside.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.ff.write_config(allow="127.0.0.1/32")
        self.assertIn(": reloaded", self.ff.hup())
        self.assertTrue(self.connect(source="127.0.0.2").is_closed())
        self.bystander()
        # Who is in stays in.
        self.assertEqual(rpc.status(
            inside.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.ff.write_config(allow="127.0.0.0/8")
        self.assertIn(": reloaded", self.ff.hup())
        self.assertEqual(rpc.status(self.connect(source="127.0.0.2").call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)

    def test_exports(self):
        c = self.connect()
        self.assertEqual(rpc.status(
            c.call(rpc.MNT, opaque("/src"), prog=rpc.MOUNT)), 0)
        self.ff.write_config(exports="/home")
        self.assertIn(": reloaded", self.ff.hup())
        self.assertEqual(rpc.status(c.call(
            rpc.MNT, opaque("/src"), prog=rpc.MOUNT)), rpc.ACCES)

    def test_log_level(self):
        self.connect().close()
        self.bystander()
        self.assertEqual(self.ff.lines(" debug "), [])
        self.ff.top["log_level"] = "debug"
        self.ff.write_config()
        self.assertIn(": reloaded", self.ff.hup())
        self.bystander()
        poll(lambda: self.ff.lines(" debug ", "closed by the peer"),
             "a debug line")

    def test_what_is_fixed(self):
        """It stays, is told of, and keeps nothing else; what is a server's
        is in control/test_reload.py."""
        inside = self.connect()
        for key in ("cache_dir", "control_socket"):
            old = self.ff.top[key]
            self.ff.top[key] = self.ff.dir + "/other"
            self.ff.write_config()
            self.assertRegex(self.ff.hup(),
                             ": reloaded; a restart is needed for %s$" % key)
            self.assertTrue(self.ff.lines("warn", "%s: needs a restart" %
                                          key))
            self.ff.top[key] = old
        self.ff.write_config()
        self.assertRegex(self.ff.hup(), ": reloaded$")
        self.assertEqual(self.ff.lines("error"), [])
        self.assertFalse(os.path.exists(self.ff.dir + "/other"))
        self.assertEqual(rpc.status(inside.call(
            rpc.GETATTR, opaque(rpc.ROOT))), 0)
        self.bystander()

    def test_server_renamed(self):
        with open(self.ff.file) as f:
            text = f.read()
        self.rewrite(text.replace("[server nas]", "[server other]"))
        self.assertRegex(self.ff.hup(), ": reloaded$")
        self.bystander()
        self.assertEqual(self.ff.control("status")["name"], "other")

    def test_while_calls_are_in_flight(self):
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
        c = self.connect()
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.READ)
        for _ in range(5):
            self.assertIn(": reloaded", self.ff.hup())
        self.up.script(rpc.READ, None)
        held[0].reply(rpc.read_ok(rpc.pattern(0, 64)))
        self.assertEqual(rpc.status(c.recv()), 0)
        self.bystander()

    def test_server_is_looked_up_again_afterwards(self):
        """The answer under the former configuration is gone by then."""
        self.ff.top["log_level"] = "debug"
        self.ff.write_config()
        self.assertIn(": reloaded", self.ff.hup())
        found = len(self.ff.lines("program=nfs", "found"))
        self.up.down()
        poll(lambda: len(self.ff.lines("program=nfs", "found")) > found,
             "it looks the server up", 15)
        self.up.up()
        self.bystander()


class Stop(daemon.Case):
    def test_call_in_flight_is_answered(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            held = []
            self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
            c = self.connect()
            idle = self.connect()
            self.bystander_null()
            c.send(rpc.READ, rpc.read_args(count=64), xid=5)
            poll(lambda: held, "the call is with the server")
            self.ff.process.send_signal(sig)
            poll(lambda: self.ff.lines("signal=%d" % sig, "stopping"),
                 "it stops")
            self.assertIsNone(self.ff.process.poll())
            held[0].reply(rpc.read_ok(rpc.pattern(0, 64)))
            reply = c.recv()
            self.assertEqual((reply.xid, reply.body[20:]),
                             (5, rpc.pattern(0, 64)))
            self.assertTrue(c.is_closed())
            self.assertTrue(idle.is_closed())
            self.assertEqual(self.ff.process.wait(10), 0)
            self.assertFalse(os.path.exists(self.ff.socket))
            self.ff.start()

    def bystander_null(self):
        with self.ff.connect() as c:
            self.assertRpcError(c.call(rpc.NULL), rpc.SUCCESS)

    def test_second_signal_does_not_wait(self):
        self.up.script(rpc.READ, HOLD)
        c = self.connect()
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.READ)
        self.ff.process.terminate()
        poll(lambda: self.ff.lines("stopping"), "it stops")
        self.ff.process.terminate()
        self.assertEqual(self.ff.process.wait(2), 0)

    def test_server_never_answers(self):
        """It gives up after a few seconds, with all kinds of calls left."""
        self.up.script(rpc.READ, HOLD)
        self.up.script(rpc.MKDIR, HOLD)
        c = self.connect()
        for i in range(20):
            c.send(rpc.READ, rpc.read_args(offset=i * 8))
            c.send(rpc.MKDIR, rpc.mkdir_args("d%d" % i))
        self.up.wait(rpc.MKDIR, 20)
        gone = self.connect()
        gone.send(rpc.MKDIR, rpc.mkdir_args("gone"))
        self.up.wait(rpc.MKDIR, 21)
        gone.abort()
        self.ff.clients(1)
        self.up.down()
        c.send(rpc.GETATTR, opaque(rpc.ROOT))
        poll(lambda: self.ff.control("status")["upstreams"][0]["queued"],
             "one is queued")
        self.ff.process.terminate()
        self.assertEqual(self.ff.process.wait(9), 0)
        self.assertTrue(self.ff.lines("warn", "still in flight"))

    def test_while_the_state_is_looked_at(self):
        """The daemon ends while it looks into what became of a change."""
        def effect(call):
            self.up.script(rpc.RMDIR, None)
            self.up.plausible(call)
            return HOLD
        self.up.make(b"d", rpc.DIR)
        c = self.connect()
        c.nfs(rpc.LOOKUP, rpc.lookup_args("d"))
        self.up.script(rpc.RMDIR, effect)
        self.up.script(rpc.LOOKUP, HOLD)
        c.send(rpc.RMDIR, rpc.dirop("d"))
        self.up.wait(rpc.RMDIR)
        self.up.down()
        poll(lambda: self.ff.counter("upstream_connect_failures") > 1,
             "it is refused")
        self.up.up()
        self.up.wait(rpc.LOOKUP, 2)
        self.ff.process.terminate()
        poll(lambda: self.ff.lines("stopping"), "it stops")
        self.ff.process.terminate()
        self.assertEqual(self.ff.process.wait(5), 0)


class Start(daemon.Case):
    def second(self, **kw):
        """Another daemon beside the first one, not started."""
        ff = daemon.Daemon(self.up.port, **kw)
        self.addCleanup(ff.close)
        return ff

    def fails(self, ff, text, code=1):
        for args in (["-F"], []):
            done = daemon.run(*args, "-f", ff.file)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertRegex(done.stdout, text)
            for mark in daemon.MARKS:
                self.assertNotIn(mark, done.stdout)
        self.bystander()

    def refused(self, ff, text):
        """At the start, and when it is asked before."""
        self.fails(ff, text, 2)
        done = daemon.run("-t", "-f", ff.file)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stdout, text)

    def test_cache_dir_in_use(self):
        self.fails(self.second(daemon={
            "cache_dir": self.ff.top["cache_dir"]}), "another forefetchd", 2)

    def test_control_socket_in_use(self):
        self.fails(self.second(daemon={"control_socket": self.ff.socket}),
                   "another forefetchd listens")
        self.assertEqual(self.ff.control("status")["name"], "nas")

    def test_listen_port_taken(self):
        self.fails(self.second(listen="127.0.0.1:%d" % self.ff.port),
                   r"listen = 127\.0\.0\.1:\d+: the port is taken by", 3)

    def test_listen_address_not_here(self):
        self.fails(self.second(listen="192.0.2.1:2049"), "listen = 192.0.2.1")

    def test_cache_dir_open_to_others(self):
        ff = self.second()
        os.mkdir(ff.top["cache_dir"])
        for mode in (0o770, 0o707, 0o777):
            os.chmod(ff.top["cache_dir"], mode)
            self.refused(ff, "others may write.*chmod")

    @unittest.skipIf(os.geteuid(), "needs root to give a directory away")
    def test_cache_dir_of_another_owner(self):
        ff = self.second()
        os.mkdir(ff.top["cache_dir"], 0o700)
        os.chown(ff.top["cache_dir"], 12345, 12345)
        self.fails(ff, "belongs to another user.*chown", 2)

    def test_cache_dir_is_a_file(self):
        ff = self.second()
        open(ff.top["cache_dir"], "w").close()
        self.refused(ff, "cache_dir .*: it is not a directory")

    def test_cache_dir_is_a_link(self):
        ff = self.second()
        os.symlink(ff.run, ff.top["cache_dir"])
        self.refused(ff, "symbolic link; use the path")

    def test_cache_dir_below_a_file(self):
        ff = self.second()
        open(ff.dir + "/file", "w").close()
        ff.top["cache_dir"] = ff.dir + "/file/cache"
        ff.write_config()
        self.refused(ff, "is not a directory")

    @unittest.skipIf(os.geteuid(), "needs root to mount")
    def test_cache_dir_too_small(self):
        ff = self.second(daemon={"cache_size": "10G"})
        os.mkdir(ff.top["cache_dir"], 0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16M,mode=700",
                        "ff-test", ff.top["cache_dir"]], check=True)
        self.addCleanup(subprocess.run, ["umount", ff.top["cache_dir"]])
        self.refused(ff, "has 16 MiB.*at least 96 MiB.*cache_size to 8M")
        ff.top["cache_size"] = "8M"
        ff.write_config()
        ff.start()
        ff.stop()

    def without_drc(self, ff, why):
        """It says so, and goes on."""
        ff.start()
        self.assertEqual(len(ff.lines("warn", "nas.drc", why)), 1, ff.log())
        with ff.connect() as c:
            self.assertEqual(rpc.status(
                c.call(rpc.MKDIR, rpc.mkdir_args("a%d" % ff.process.pid))), 0)
        ff.stop()

    def test_drc_is_a_symlink(self):
        ff = self.second()
        os.symlink(ff.dir + "/elsewhere", ff.drc)
        self.without_drc(ff, "Too many levels")
        self.assertFalse(os.path.exists(ff.dir + "/elsewhere"))

    @unittest.skipUnless(daemon.TMPFS, "needs a tmpfs")
    def test_drc_of_others(self):
        ff = self.second()
        with open(ff.drc, "w") as f:
            f.write("precious")
        os.chmod(ff.drc, 0o644)
        self.without_drc(ff, "Operation not permitted")
        os.chmod(ff.drc, 0o600)
        os.link(ff.drc, ff.drc + ".2")
        open(ff.log_path, "w").close()
        self.without_drc(ff, "Operation not permitted")
        with open(ff.drc) as f:
            self.assertEqual(f.read(), "precious")

    @unittest.skipUnless(daemon.TMPFS, "needs a tmpfs")
    def test_drc_of_another_daemon(self):
        one, two = self.second(), self.second()
        two.top["control_socket"] = two.socket = one.socket + ".2"
        two.write_config()
        one.start()
        self.without_drc(two, "Resource temporarily unavailable")

    def test_drc_not_on_a_tmpfs(self):
        ff = self.second()
        ff.top["control_socket"] = ff.socket = ff.dir + "/control.sock"
        ff.write_config()
        self.without_drc(ff, "not on a tmpfs")
        self.assertFalse(os.path.exists(ff.dir + "/nas.drc"))

    def test_parents_are_made(self):
        top = tempfile.mkdtemp(prefix="ff-hostile-")
        self.addCleanup(shutil.rmtree, top)
        ff = self.second(daemon={"cache_dir": top + "/a/b/c/cache",
                                 "control_socket": top + "/run/control.sock"})
        ff.socket = ff.top["control_socket"]
        ff.start()
        self.assertEqual(os.stat(ff.top["cache_dir"]).st_mode & 0o777, 0o700)
        with ff.connect() as c:
            self.assertEqual(rpc.status(
                c.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)

    def test_stale_control_socket_is_replaced(self):
        ff = self.second()
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(ff.socket)
        ff.start()
        poll(lambda: ff.control("status"), "it answers")

    def test_control_is_a_file(self):
        ff = self.second()
        with open(ff.socket, "w") as f:
            f.write("precious")
        self.fails(ff, "is not a socket")
        with open(ff.socket) as f:
            self.assertEqual(f.read(), "precious")

    def test_killed_daemon_leaves_nothing_in_the_way(self):
        self.ff.kill()
        self.ff.start()
        self.bystander()

    def test_address_files_are_garbage(self):
        ff = self.second()
        os.makedirs(ff.top["cache_dir"] + "/nas", 0o700)
        for name, text in (("address-nfs", b"\xff" * 5000),
                           ("address-mount", b"")):
            with open("%s/nas/%s" % (ff.top["cache_dir"], name), "wb") as f:
                f.write(text)
        ff.start()
        with ff.connect() as c:
            self.assertEqual(rpc.status(
                c.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)

    def test_background(self):
        """It returns when it listens, whoever waits for its output."""
        ff = self.second()
        with open(ff.log_path, "ab") as log:
            parent = subprocess.Popen(
                [daemon.binary("forefetchd"), "-f", ff.file],
                env=daemon.environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log)
        self.addCleanup(self.end_background, ff)
        self.addCleanup(parent.stdout.close)
        self.assertEqual(parent.wait(daemon.BOUND), 0)
        with ff.connect() as c:
            self.assertEqual(rpc.status(
                c.call(rpc.GETATTR, opaque(rpc.ROOT))), 0)
        ready, _, _ = select.select([parent.stdout], [], [], daemon.BOUND)
        self.assertTrue(ready, "stdout is still open")
        self.assertEqual(parent.stdout.read(), b"")

    def end_background(self, ff):
        status = subprocess.run(
            [daemon.binary("forefetch"), "--socket", ff.socket, "--json",
             "status"], stdout=subprocess.PIPE, text=True, check=True,
            env=daemon.environment()).stdout
        os.kill(int(re.search(r'"pid":(\d+)', status).group(1)),
                signal.SIGTERM)
        poll(lambda: not os.path.exists(ff.socket), "it stops")


if __name__ == "__main__":
    daemon.main()
