# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon with a farm, and a real redis-server for it."""
import json
import os
import subprocess

import daemon


class FarmDaemon(daemon.Daemon):
    """One whose configuration has a [farm] section."""

    def __init__(self, upstream, farm, **kw):
        self.farm = farm
        super().__init__(upstream, **kw)

    def write_config(self, **server):
        super().write_config(**server)
        with open(self.file, "a") as f:
            f.write("[farm]\n")
            f.writelines("%s = %s\n" % kv for kv in self.farm.items())

    def status_of_farm(self):
        out = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.socket, "status",
             "--json"], env=daemon.environment(), stdout=subprocess.PIPE,
            timeout=daemon.BOUND, check=True)
        return json.loads(out.stdout)["farm"]


class Redis:
    """One on a UNIX socket, which keeps nothing when it ends."""

    def __init__(self, path):
        self.path = path
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path,
             "--save", "", "--maxmemory", "100mb", "--maxmemory-policy",
             "allkeys-lru"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=os.path.dirname(path))
        daemon.poll(lambda: self.ask("PING") == "PONG", "redis answers")

    def ask(self, *words):
        return subprocess.run(
            ["redis-cli", "-s", self.path, *words], timeout=daemon.BOUND,
            text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT).stdout.strip()

    def kinds(self):
        """How many values of each kind there are, by its letter."""
        n = {}
        for key in self.ask("KEYS", "ff:*").split():
            kind = key.split(":")[2]
            n[kind] = n.get(kind, 0) + 1
        return n

    def kill(self):
        self.process.kill()

    def close(self):
        self.kill()
        self.process.wait()
