#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands have their names, and had others; where a server may stand; texts
of help; and what somebody hears who types something else."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import daemon
from commands import Commands


class Names(Commands):
    def names(self):
        _, out, _ = self.run_it("help")
        return re.findall(r"^  ([a-z-]+) ", out, re.M)

    def test_former(self):
        """They work, and one line on stderr says what they are called now."""
        for former, name in (("flush",), "drop"), (("compact",), "reorder"), \
                (("flush", "nas", "--json"), "drop"), \
                (("pin", "--list"), "pins"):
            code, out, err = self.run_it(*former)
            self.assertEqual(code, 0, (former, err))
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(name, err)
            self.assertIn("until the next release", err)
            self.assertNotEqual(out, "")
        self.assertEqual(self.run_it("flush", "--help")[1],
                         self.run_it("drop", "--help")[1])
        self.assertFalse({"flush", "compact"} & set(self.names()))

    def test_server(self):
        """Alone or behind --server."""
        for command in ("status", "stats", "drop", "reorder", "pins"):
            for words in (("nas",), ("--server", "nas"), ("--server=nas",)):
                code, _, err = self.run_it(command, *words)
                self.assertEqual((code, err), (0, ""), (command, words))
            for words in (("no",), ("--server", "no")):
                code, _, err = self.run_it(command, *words)
                self.assertEqual(code, 1)
                self.assertIn("no server of that name", err)
            for words in (("nas", "--server", "nas"), ("",), ("a", "b"),
                          ("--server", "")):
                self.assertEqual(self.run_it(command, *words)[0], 2, words)
        self.assertEqual(self.run_it("trees", "list", "nas")[0], 0)
        self.assertEqual(self.run_it("trees", "list", "no")[0], 1)

    def test_help(self):
        for name in self.names():
            code, out, err = self.run_it(name, "--help")
            self.assertEqual((code, err), (0, ""))
            for line in out.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertIn(name.replace("help", "COMMAND"), out.splitlines()[0])
            self.assertEqual(self.run_it("help", name)[1], out)
            if name not in ("mount", "umount"):
                self.assertEqual(self.run_it("--help", name)[1], out)
            # The usage lines name each option of the command; --server may
            # stand there as SERVER.
            usage, _, text = out.partition("\n\n")
            taken = re.findall(r"^ +(?:(-.)(?:,| |$) *)?(--[a-z-]+)?.*", text, re.M)
            for words in taken:
                words = [w for w in words if w]
                if words and not {"--help", "--version", "--socket",
                                  "--server"} & set(words):
                    self.assertTrue(any(
                        re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(w), usage)
                        for w in words), (name, words))
            if name not in ("help", "mount", "umount", "bench"):
                self.assertIn("--socket", text)

    def test_typos(self):
        for typed, meant in (("statuss", "status"), ("dorp", "drop"),
                             ("re-order", "reorder"), ("explian", "explain")):
            code, out, err = self.run_it(typed)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("did you mean %s?" % meant, err)
        for typed in ("x", "frobnicate", "", "s" * 9999, "\x1b[2J"):
            code, out, err = self.run_it(typed)
            self.assertEqual((code, out), (2, ""))
            self.assertNotIn("did you mean", err)

    def test_options(self):
        """Messages begin with the name, not with a path."""
        for words in (("status", "--frob"), ("status", "--watch"),
                      ("stats", "--check"), ("drop", "-x"),
                      ("status", "--socket", "")):
            code, out, err = self.run_it(*words)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, "^forefetch: ")
        # Commands with a command line of their own.
        for words in (("--", "mount"), ("--json", "mount"),
                      ("--socket", "/x", "--socket", "/x", "umount", "/")):
            code, out, err = self.run_it(*words)
            self.assertEqual(code, 2)
            self.assertIn("come after it", err)
            self.assertEqual(out != "", words[0] == "--json", out)
        self.assertRegex(self.run_it("-V")[1], r"^forefetch \d")
        self.assertEqual(self.run_it("-V"), self.run_it("--version"))
        for line in ("commit", "compiler", "libraries  libevent"):
            self.assertIn("\n" + line, self.run_it("-V")[1])

    def test_escapes(self):
        """Who names a file on the server does not write to the terminal."""
        name = "\x1b]0;x\x07 1 \x9b"
        for words, text in ((("warm", "/tmp/" + name), ""),
                            (("explain", "/tmp/" + name), ""),
                            (("warm", self.mount + "/" + name), ""),
                            (("pin", self.mount + "/" + name), ""),
                            (("hint", "-"), "/tmp/%s\n" % name),
                            (("hint", "-"), "/%s 1 99999999999999999999\n" %
                             name)):
            code, out, err = self.run_it(*words, stdin=text)
            self.assertEqual(code, 1, (words, out, err))
            self.assertNotRegex(out + err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
            self.assertIn(r"\x1b]0;x\x07", err)


if __name__ == "__main__":
    daemon.main()
