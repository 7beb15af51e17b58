#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Long commands say how far they are while they work: a line on a terminal,
with a share and what is left; why they wait; and that ^C ends them."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
import rpc
from commands import Commands
from fakeserver import HOLD


class Progress(Commands):
    def start(self, *args, width=80):
        """The command, and the other end of its terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, width, 0, 0))
        process = subprocess.Popen(
            [daemon.binary("forefetch"), *args], env=self.env, stderr=slave,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.close(slave)
        self.addCleanup(os.close, master)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, master

    def until(self, fd, want):
        seen, end = "", time.monotonic() + daemon.BOUND
        while want not in seen:
            left = max(end - time.monotonic(), 0)
            self.assertTrue(select.select([fd], [], [], left)[0], (want, seen))
            seen += os.read(fd, 4096).decode()
        return seen

    def stop(self, process, ends=(1,)):
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(daemon.BOUND), ends)

    def test_terminal(self):
        self.up.script(rpc.READ, HOLD)
        process, fd = self.start("warm", self.mount, width=40)
        seen = self.until(fd, "%") + self.until(fd, "director")
        for line in seen.split("\r"):
            self.assertLess(len(line.split("\x1b")[0].rstrip()), 40, line)
        self.assertNotIn("\n", seen)
        self.stop(process)

    def test_no_terminal(self):
        """Nothing, as there is nobody to look."""
        code, _, err = self.run_it("warm", self.mount)
        self.assertEqual((code, err), (0, ""))
        code, _, err = self.run_it("warm", "--progress", self.mount)
        self.assertEqual((code, err), (0, ""))

    def test_away(self):
        """It says what it waits for, goes on when that is back, and ^C ends
        it."""
        self.up.down()
        daemon.poll(lambda: self.run_it("status", "--check")[0] == 1, "it is")
        for command in "warm", "pin":
            process, fd = self.start(command, self.mount)
            self.until(fd, "this waits, since nas is ")
            # While it looks at the path, where the kernel may wait for the
            # server, the signal itself ends it.
            self.stop(process, (1, -signal.SIGINT))
        process = subprocess.Popen(
            [daemon.binary("forefetch"), "warm", self.mount], env=self.env,
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(process.stderr.close)
        self.assertIn(b"this waits, since nas is ", process.stderr.readline())
        self.up.up()
        self.assertEqual(process.wait(30), 0)

    def test_away_meanwhile(self):
        self.up.script(rpc.READ, HOLD)
        process, fd = self.start("warm", self.mount)
        self.until(fd, "%")
        self.up.down()
        self.until(fd, "waits: nas is ")
        self.stop(process)

    def test_reorder(self):
        """Nothing was read, so there is nothing to do; that is no failure."""
        code, out, _ = self.run_it("reorder")
        self.assertEqual(code, 0)
        self.assertIn("nothing was read since the start", out)


if __name__ == "__main__":
    daemon.main()
