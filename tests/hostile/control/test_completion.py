#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Shells offer words behind TAB: in bash, and in zsh and fish where they
are."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
from commands import Commands

FILES = os.path.join(HERE, *[os.pardir] * 3, "configs", "completion")
BASH = """
[ -z "$LIBRARY" ] || . "$LIBRARY"
. %s/forefetch.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
COMP_LINE=$* COMP_POINT=${#COMP_LINE}
"_${1##*/}"
printf '%%s\\n' "${COMPREPLY[@]}"
""" % FILES
LIBRARY = "/usr/share/bash-completion/bash_completion"


class Completion(Commands):
    def bash(self, *words, library="", program="forefetch"):
        done = subprocess.run(
            ["bash", "-c", BASH, "bash", daemon.binary(program), *words],
            env=dict(self.env, LIBRARY=library), stdout=subprocess.PIPE,
            timeout=daemon.BOUND, check=True, cwd=self.mount)
        return done.stdout.decode().split()

    def shells(self, *words):
        """The same with the library of Debian and without; a set."""
        got = self.bash(*words)
        if os.path.exists(LIBRARY):
            self.assertEqual(got, self.bash(*words, library=LIBRARY))
        return set(got)

    def commands(self):
        _, out, _ = self.run_it("help")
        return set(re.findall(r"^  ([a-z-]+) ", out, re.M))

    def test_commands(self):
        commands = self.commands()
        self.assertLessEqual({"status", "drop", "reorder", "pins"}, commands)
        self.assertEqual(self.shells(""), commands)
        self.assertEqual(self.shells("re"),
                         {c for c in commands if c.startswith("re")})
        self.assertEqual(self.shells("nothing"), set())
        self.assertEqual(self.shells("help", "drop", ""), set())

    def test_options(self):
        """Each that the help of the command has."""
        for command in self.commands() - {"help"}:
            _, out, _ = self.run_it(command, "--help")
            self.assertEqual(self.shells(command, "--"),
                             set(re.findall(r"^ .{5}(--[a-z-]+)", out, re.M)))

    def test_servers(self):
        for words in (("status", ""), ("drop", "n"), ("stats", "--json", ""),
                      ("trees", "--server", ""), ("trees", "list", ""),
                      ("--socket", self.ff.socket, "status", "")):
            self.assertEqual(self.shells(*words), {"nas"}, words)
        self.assertEqual(self.shells("status", "x"), set())
        self.assertEqual(self.shells("status", "nas", ""), set())
        self.assertEqual(self.shells("--socket", "/nowhere", "status", ""),
                         set())
        self.assertEqual(self.shells("reload", ""), set())

    def test_files(self):
        for words in (("warm", ""), ("pin", "file", ""), ("trees", "export", ""),
                      ("trace", "start", ""), ("status", "--socket", ""),
                      ("trees", "merge", "-o", ""), ("farm", "key", "")):
            self.assertEqual(self.shells(*words), {"dir", "file"}, words)

    def test_actions(self):
        self.assertEqual(self.shells("trace", "st"), {"start", "stop"})
        self.assertIn("merge", self.shells("trees", ""))
        self.assertIn("key", self.shells("farm", ""))
        self.assertEqual(self.shells("trees", "show", ""), set())

    def test_clumsy(self):
        """Whatever is there so far, it does no harm and says nothing."""
        for words in (("",), ("--", ""), ("-", ""), ("--socket", ""),
                      ("é\x01", ""), ("status", "-" * 5000), ("help", "")):
            got = self.run_it("complete", "--", *words)
            self.assertEqual((got[0], got[2]), (0, ""), words)
        self.assertEqual(self.run_it("complete")[0], 2)

    def test_daemon(self):
        self.assertIn("--foreground", self.bash("--", program="forefetchd"))

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        def offered(line):
            program = daemon.binary("forefetch")
            script = "source %s/forefetch.fish; complete -C '%s %s'" % (
                FILES, program, line)
            done = subprocess.run(
                ["fish", "--no-config", "-c", script], cwd=self.mount,
                env=dict(self.env, HOME=self.ff.dir), check=True,
                stdout=subprocess.PIPE, timeout=daemon.BOUND)
            return {l.split("\t")[0] for l in done.stdout.decode().splitlines()}
        self.assertEqual(offered("stat"), {"status", "stats"} & self.commands())
        self.assertEqual(offered("status "), {"nas"})
        self.assertIn("file", offered("warm f"))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        """It is asked by the TAB key, on a terminal."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.mount)
            path = os.path.dirname(daemon.binary("forefetch"))
            env = dict(self.env, PATH=path + ":" + os.environ["PATH"],
                       TERM="dumb", PS1="> ", HOME=self.ff.dir)
            os.execvpe("zsh", ["zsh", "-f", "-i"], env)

        def typed(text, want):
            os.write(fd, text.encode())
            seen, end = "", time.monotonic() + daemon.BOUND
            while want not in seen:
                left = end - time.monotonic()
                self.assertTrue(select.select([fd], [], [], max(left, 0))[0],
                                (text, want, seen))
                seen += os.read(fd, 4096).decode(errors="replace")
        try:
            typed("fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; "
                  "print rea''dy\n" % FILES, "ready\r")
            typed("forefetch relo\t", "reload ")
            typed("\x15forefetch status n\t", "nas ")
            typed("\x15forefetch warm fi\t", "file ")
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            os.close(fd)


if __name__ == "__main__":
    daemon.main()
