# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon to whose server others come, in files of their own."""
import json
import os
import socket
import subprocess

import daemon
import fakeserver
import rpc


class Reloads:
    """The server `nas` is in FILE; others come in files of FILE.d. For a
    TestCase with `ff`."""

    def set_up_reloads(self):
        self.own = self.ff.file + ".d"
        os.mkdir(self.own, 0o755)
        self.other = fakeserver.FakeServer()
        self.addCleanup(self.other.close)

    def put(self, name, port, **keys):
        """A file with a server; returns its path."""
        section = {"address": "127.0.0.1", "nfs_port": self.other.port,
                   "mount_port": self.other.port, "secure": "no",
                   "listen": "127.0.0.1:%d" % port, **keys}
        path = os.path.join(self.own, name + ".conf")
        with open(path + ".new", "w") as f:
            f.write("[server %s]\n" % name)
            f.writelines("%s = %s\n" % kv for kv in section.items())
        os.rename(path + ".new", path)
        return path

    def forefetch(self, *args, timeout=40):
        return subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.ff.socket, *args],
            env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=timeout)

    def reload(self, code=0):
        """Reloads, and returns the changes: (server, setting): (kind, why)."""
        done = self.forefetch("reload", "--json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr +
                         self.ff.log())
        return {(c["server"] or "", c["setting"] or ""): (c["kind"],
                                                            c["why"])
                for c in json.loads(done.stdout)["changes"]}

    def begin_reload(self):
        process = subprocess.Popen(
            [daemon.binary("forefetch"), "--socket", self.ff.socket,
             "reload"], env=daemon.environment(), stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        return process

    def kinds(self, code=0):
        return {key: kind for key, (kind, why) in self.reload(code).items()}

    def servers(self):
        out = self.forefetch("status", "--json").stdout
        return [s["name"] for s in json.loads(out)["servers"]]

    def works(self, port, offset=0):
        with rpc.Client(port) as c:
            st, r = c.nfs(rpc.READ, rpc.read_args(offset=offset, count=64))
            self.assertEqual(st, 0)
            self.assertTrue(r.rest().endswith(rpc.pattern(offset, 64)))

    def refused(self, port):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1)

    def add(self, name="two", **keys):
        port = fakeserver.free_port()
        self.put(name, port, **keys)
        self.assertEqual(self.kinds(), {(name, ""): "added"})
        self.works(port)
        return port


class Reload(Reloads, daemon.Case):
    def setUp(self):
        super().setUp()
        self.set_up_reloads()
