# SPDX-License-Identifier: GPL-2.0-or-later
"""The program forefetch before a daemon, with paths that look mounted."""
import json
import os
import subprocess

import daemon
import rpc
import tree


class Commands(tree.Tree):
    """`self.mount` is a directory that takes itself for a mount of /srv."""

    def setUp(self):
        super().setUp()
        self.mount = os.path.join(self.ff.dir, "mnt")
        os.makedirs(os.path.join(self.mount, "dir"))
        open(os.path.join(self.mount, "file"), "w").close()
        mounts = os.path.join(self.ff.dir, "mounts")
        with open(mounts, "w") as f:
            f.write("127.0.0.1:/srv %s nfs rw,vers=3,addr=127.0.0.1,port=%d "
                    "0 0\n" % (self.mount, self.ff.port))
        preload = os.path.join(daemon.BUILD, "tests", "faults.so")
        self.env = dict(daemon.environment(), LD_PRELOAD=preload,
                        FF_MOUNTS=mounts, FOREFETCH_SOCKET=self.ff.socket)
        with self.ff.connect() as c:
            c.call(rpc.MNT, rpc.opaque(b"/srv"), prog=rpc.MOUNT)

    def run_it(self, *args, stdin="", **env):
        """Exit status, output and errors."""
        done = subprocess.run(
            [daemon.binary("forefetch"), *args], input=stdin.encode(),
            env=dict(self.env, **env), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=daemon.BOUND)
        return (done.returncode, done.stdout.decode(errors="replace"),
                done.stderr.decode(errors="replace"))

    def json(self, *args, code=0, **kw):
        got, out, err = self.run_it(*args, "--json", **kw)
        self.assertEqual(got, code, (args, out, err))
        self.assertEqual(out.count("\n"), 1, out)
        return json.loads(out)
