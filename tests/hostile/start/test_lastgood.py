#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Restarts and crashes while the configuration is wrong."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon


class Restart(daemon.Case):
    def rewrite(self, text):
        with open(self.ff.file, "w") as f:
            f.write(text)

    def test_while_the_files_are_wrong(self):
        """Under systemd it goes on with what it had, and says so."""
        self.ff.stop()
        runtime = self.ff.dir + "/runtime"
        os.mkdir(runtime, 0o755)
        self.ff.env["RUNTIME_DIRECTORY"] = runtime
        self.ff.start()
        # A configuration that a reload brought is kept, too.
        self.ff.write_config(attr_timeout="5s")
        self.assertRegex(self.ff.hup(), ": reloaded$")
        with open(self.ff.file) as f:
            good = f.read()
        for end in self.ff.kill, self.ff.stop:
            self.rewrite(good + "nonsense = 1\n")
            end()
            self.ff.start()
            self.bystander()
            self.assertTrue(self.ff.lines(
                "error", "nonsense", "going on with the previous configuration"))
            self.assertEqual(self.ff.control("status")["attr_timeout_us"],
                             5000000)
            out = subprocess.run(
                [daemon.binary("forefetch"), "--socket", self.ff.socket,
                 "status", "--check"], env=daemon.environment(), text=True,
                stdout=subprocess.PIPE)
            self.assertEqual(out.returncode, 1)
            self.assertIn("nonsense", out.stdout)
            self.assertEqual(
                daemon.run("-t", "-f", self.ff.file).returncode, 2)
            # When they are right, nothing was different.
            self.rewrite(good)
            self.assertRegex(self.ff.hup(), ": reloaded$")
        # A unit that was stopped has nothing to go on with.
        self.ff.stop()
        os.unlink(runtime + "/last.conf")
        self.rewrite(good + "nonsense = 1\n")
        self.assertEqual(daemon.run("-F", "-f", self.ff.file).returncode, 2)
        self.rewrite(good)
        self.ff.start()


if __name__ == "__main__":
    daemon.main()
