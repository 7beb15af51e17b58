#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of bench/jobs/run that are sessions: session.py index|login|editor TMP.

They work in the current directory, print what they found, and keep what they
make for themselves in TMP.
"""
import collections
import hashlib
import os
import re
import sys


def index(tmp):
    """Words of a tree of texts, and where they are, as Glimpse would."""
    places = collections.defaultdict(list)
    count = 0
    for where, dirs, names in os.walk("."):
        dirs.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                text = f.read()
            for word in set(re.findall(rb"[A-Za-z]{3,}", text)):
                places[word.lower()].append(count)
            count += 1
    made = hashlib.sha256()
    with open(os.path.join(tmp, "index"), "wb") as f:
        for word in sorted(places):
            line = b"%s %s\n" % (word, repr(places[word]).encode())
            f.write(line)
            made.update(line)
    print(count, "files,", len(places), "words,", made.hexdigest())


def read(path):
    with open(path, "rb") as f:
        return f.read()


def login(tmp):
    """Reads of a home directory what a login and the start of a desktop
    read."""
    made = hashlib.sha256()
    for name in (".profile", ".bashrc", ".inputrc", ".bash_history"):
        made.update(read(name))
    for name in sorted(os.listdir(".bashrc.d")):
        made.update(read(os.path.join(".bashrc.d", name)))
    count = 0
    for top in (".config", ".local/share/applications", ".local/share/icons"):
        for where, dirs, names in os.walk(top):
            dirs.sort()
            for name in sorted(names):
                path = os.path.join(where, name)
                os.stat(path)
                # Defaults that a user has not changed are not there.
                if name.endswith(".conf") and not os.path.exists(
                        path + ".local"):
                    made.update(read(path))
                    count += 1
                elif name.endswith((".desktop", ".png")):
                    with open(path, "rb") as f:
                        made.update(f.read(4096))
                    count += 1
    print(count, "files", made.hexdigest())


def editor(tmp):
    """Ten files looked at, one changed and saved as editors do, and a look
    at the directory again; then all is as it was."""
    names = sorted(n for n in os.listdir("builtin") if n.endswith(".c"))
    made = hashlib.sha256()
    for name in names[:40:4]:
        path = os.path.join("builtin", name)
        for line in read(path).splitlines()[:40]:
            if line.startswith(b'#include "'):
                header = line.split(b'"')[1].decode()
                if os.path.exists(header):
                    made.update(read(header))
        made.update(read(path))
    path = os.path.join("builtin", names[0])
    old = read(path)
    for text in (old + b"/* changed */\n", old):
        with open(path + ".new", "wb") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.rename(path + ".new", path)
        made.update(read(path))
        made.update(repr(sorted(os.listdir("builtin"))).encode())
    print(made.hexdigest())


def main():
    {"index": index, "login": login, "editor": editor}[sys.argv[1]](
        sys.argv[2])


main()
