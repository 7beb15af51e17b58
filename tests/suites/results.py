#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the output of suites into lines of TEST, outcome, value and detail, separated
by tabs.

    results.py pjdfstest | sqlite:RUN | git:SCRIPT   <OUTPUT

The value is what must be equal on both sides of a test, besides its outcome.
"""
import re
import sys

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def pjdfstest(lines, _):
    """`NAME  ok|skipped|FAILED`; lines that are indented are about the one above."""
    words = {"ok": "pass", "skipped": "skip", "FAILED": "fail"}
    rows = []
    for line in lines:
        found = re.match(r"(\w+(?:::\w+)+)\s+(ok|skipped|FAILED)$", line)
        if found:
            rows.append([found.group(1), words[found.group(2)], "", ""])
        elif rows and line.startswith(("\t", " ")):
            rows[-1][3] += " " + line.strip()
    return rows


def sqlite(lines, run):
    """` 100 - what it did....  0.007s`, and the hash of all that it answered."""
    rows = []
    for line in lines:
        found = re.match(r" *(\d+) - .*\d\.\d+s$", line)
        if found:
            rows.append(["%s:%s" % (run, found.group(1)), "pass", "", ""])
        elif line.startswith("Verification Hash:"):
            rows.append([run + ":hash", "pass", line.split(":")[1].strip(), ""])
    return rows


def git(lines, script):
    """The Test Anything Protocol."""
    rows = []
    for line in lines:
        found = re.match(r"(not )?ok (\d+)( - |)(.*)", line)
        if found:
            text = found.group(4)
            outcome = "fail" if found.group(1) else "pass"
            # A failure that its authors know of is none; if it passes, that counts.
            if re.search(r"# (skip|TODO)", text, re.I):
                outcome = "skip"
            rows.append(["%s:%s" % (script, found.group(2)), outcome, "",
                         text if outcome == "fail" else ""])
        elif re.match(r"1\.\.0\b.*skip", line, re.I):
            rows.append([script + ":all", "skip", "", line])
    return rows


def main():
    kind, _, name = sys.argv[1].partition(":")
    text = COLOUR.sub("", sys.stdin.buffer.read().decode(errors="replace"))
    parse = {"pjdfstest": pjdfstest, "sqlite": sqlite, "git": git}[kind]
    for row in parse(text.splitlines(), name):
        print("\t".join(re.sub(r"\s+", " ", field.strip())[:400] for field in row))


if __name__ == "__main__":
    main()
