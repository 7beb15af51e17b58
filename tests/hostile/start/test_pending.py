#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes that a later release left pending: nothing is served beside them, and
whoever wants that is told why."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE),
                os.path.join(os.path.dirname(HERE), "control")]
import daemon
from case_reload import Reload

LINE = "0.3.0 /var/cache/forefetch/nas/journal\n"


class Pending(Reload):
    def setUp(self):
        super().setUp()
        self.state = self.ff.dir + "/state"
        self.mark = self.state + "/pending-writes"
        os.mkdir(self.state)
        self.ff.stop()
        self.ff.env["STATE_DIRECTORY"] = self.state

    def leave(self, text=LINE):
        with open(self.mark, "w") as f:
            f.write(text)

    def forefetchd(self, *args, **env):
        return subprocess.run(
            [daemon.binary("forefetchd"), "-f", self.ff.file, *args],
            env=dict(daemon.environment(), **self.ff.env, **env),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=daemon.BOUND)

    def refuses(self, *words, **env):
        for args in (["-F"], [], ["-t"]):
            done = self.forefetchd(*args, **env)
            self.assertEqual(done.returncode, 2, done.stderr)
            for word in (self.mark, "install that release again", *words):
                self.assertIn(word.lower(), done.stderr.lower())
        self.refused(self.ff.port)

    def test_start(self):
        self.leave()
        self.refuses("forefetch 0.3.0 keeps in /var/cache/forefetch/nas/"
                     "journal")
        os.unlink(self.mark)
        self.ff.start()
        self.bystander()

    def test_whatever_it_is(self):
        for text in ("", "\n", "one-word", "\0 x", " x", "x" * 100000):
            with self.subTest(text[:20]):
                self.leave(text)
                self.refuses("that a later release")
        for text in ("\x1b[31m evil\x1b \n", "0.3.0 " + "y" * 5000):
            with self.subTest(text[:20]):
                self.leave(text)
                self.refuses("keeps in")
                self.assertNotIn("\x1b", self.forefetchd("-t").stderr)
        os.unlink(self.mark)
        os.symlink("/nowhere", self.mark)
        self.refuses()
        os.unlink(self.mark)
        os.mkfifo(self.mark)
        self.refuses()
        os.unlink(self.mark)
        os.mkdir(self.mark)
        self.refuses()

    def test_several_directories(self):
        self.leave()
        self.ff.env.pop("STATE_DIRECTORY")
        self.refuses(STATE_DIRECTORY="%s/none:%s" % (self.ff.dir, self.state))

    def test_a_server_that_comes(self):
        """A server that runs goes on, and may change; nothing new is
        served."""
        self.ff.start()
        self.leave()
        port = daemon.fakeserver.free_port()
        path = self.put("two", port)
        done = self.forefetch("reload")
        self.assertEqual(done.returncode, 1)
        self.assertIn("install that release again", done.stderr.lower())
        self.refused(port)
        self.bystander()
        os.unlink(path)
        self.ff.write_config(attr_timeout="5s")
        self.assertEqual(self.kinds(), {("nas", "attr_timeout"): "changed"})
        self.put("two", port)
        os.unlink(self.mark)
        self.assertEqual(self.kinds(), {("two", ""): "added"})
        self.works(port)


if __name__ == "__main__":
    daemon.main()
