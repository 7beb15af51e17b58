#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line where somebody mistypes, asks for what is not there, or is a
program: what is said, and in which form."""
import json
import os
import pty
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
from commands import Commands


class Usage(Commands):
    def says(self, code, words, *args, **kw):
        got, out, err = self.run_it(*args, **kw)
        self.assertEqual(got, code, (args, out, err))
        self.assertIn(words, out + err)
        return out

    def test_what_was_meant(self):
        for words, args in (("did you mean --json?", ("status", "--jsn")),
                            ("did you mean --server?", ("top", "--servr=x")),
                            ("did you mean status?", ("statsu",)),
                            ("did you mean trees list?", ("trees", "lst")),
                            ("did you mean farm check?", ("farm", "chekc"))):
            self.says(2, words, *args)
        self.says(2, "see forefetch help", "status", "--nonsense")
        self.says(2, "see forefetch help trees", "trees", "nonsense")
        self.says(2, "trees show needs an ID; forefetch trees lists them",
                  "trees", "show")

    def test_what_goes_without_saying(self):
        self.assertEqual(self.run_it("trees")[0], 0)
        self.assertEqual(self.run_it("trees"), self.run_it("trees", "list"))
        self.assertEqual(self.run_it("farm"), self.run_it("farm", "status"))
        self.assertIn("nas", self.says(0, "", "top", "--once", "--server",
                                       "nas"))
        self.says(1, "no server of that name", "top", "--once", "--server", "none")

    def test_what_is_not_there(self):
        for command in ("explain", "unpin", "warm", "pin"):
            self.says(1, "No such file or directory", command, "/no/such")
            self.says(1, "it is on no NFSv3 mount", command, "/")
        # On the mount the daemon is asked, as it may know.
        self.assertEqual(self.run_it("explain", self.mount + "/none")[0], 0)

    def test_log_level(self):
        """It lasts until a reload, and only what is a level is taken."""
        before = self.says(0, "", "log-level").strip()
        other = "debug" if before != "debug" else "warn"
        self.assertEqual(self.says(0, "", "log-level", other), other + "\n")
        self.assertEqual(json.loads(self.says(0, "", "log-level", "--json")),
                         {"level": other})
        for words in ("loud", "WARN", "0", "info debug"):
            self.says(1, "error, warn, info or debug", "log-level", words)
        self.says(2, "", "log-level", "info", "debug")
        self.assertEqual(self.says(0, "", "log-level"), other + "\n")
        self.says(0, "", "reload")
        self.assertEqual(self.says(0, "", "log-level").strip(), before)

    def test_trace_stop(self):
        self.says(1, "no trace of yours", "trace", "stop")
        self.says(0, "", "trace", "start", self.ff.dir + "/trace")
        self.says(0, "1 trace is ended and complete\n", "trace", "stop")

    def test_a_program_is_told(self):
        """One value, and what stands on stderr is in it."""
        gone = self.ff.dir + "/none.sock"
        for args in (("status", "--socket", gone), ("stats", "no-such-server"),
                     ("explain", "/no/such"), ("trees", "show", "zz"),
                     ("trace", "stop"), ("top", "--once", "--socket", gone),
                     ("mount", "--socket", gone), ("nonsense",),
                     ("status", "--for", "1h"), ("unpin",)):
            with self.subTest(args=args):
                got, out, err = self.run_it(args[0], "--json", *args[1:])
                self.assertIn(got, (1, 2))
                self.assertEqual(out.count("\n"), 1, out)
                self.assertIn(json.loads(out)["error"], err)
        # It is not said twice, nor where all is well.
        self.assertEqual(list(self.json("status", "--check")),
                         ["problems", "warnings", "ok"])
        got, out, err = self.run_it("warm", "--json", "/no/such")
        self.assertEqual((got, out.count("\n")), (1, 1))
        json.loads(out)

    def shown(self, **env):
        """Returns what `status` shows on a terminal."""
        env = {**self.env, "TERM": "xterm", **env}
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(daemon.binary("forefetch"), ["forefetch", "status"], env)
        out = b""
        try:
            while part := os.read(fd, 4096):
                out += part
        except OSError: # it has ended
            pass
        os.close(fd)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, out)
        return out

    def test_colours(self):
        self.assertIn(b"\033[32mup\033[0m", self.shown())
        self.assertNotIn(b"\033", self.shown(NO_COLOR="1"))
        self.assertNotIn(b"\033", self.shown(TERM="dumb"))
        self.assertNotIn("\033", self.run_it("status")[1])


if __name__ == "__main__":
    daemon.main()
