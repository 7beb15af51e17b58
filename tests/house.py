#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of the house, and their bounds: fails where one is exceeded.

    tests/house.py           the figures
    tests/house.py --list    and the places that make them up

A folder's files are what git keeps, without data (corpora, recorded traces).
A function's lines are those from its opening brace to the closing one.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import includes

ROOT = Path(__file__).resolve().parent.parent
DATA = re.compile(r"^(bench/traces/data|tests/fuzz/corpus)/")
SOURCE = (".c", ".h", ".x", ".py", ".sh", ".bash", ".proto")

CODE = ("hashing", "nfsproto", "predictor", "proxy", "cli", "hint")
FOLDER_MAX = 35      # files
FILE_MAX = 600       # lines
FUNCTION_MAX = 60    # lines
FUNCTION_LONG = 40   # lines
PRIVATE_MAX = 200    # lines of a header that its folder shares
# Lower these whenever there are fewer.
RIDDLES_MAX = 0      # comments
TAGS_MAX = 0       # struct tags
HALLS_MAX = 0        # private headers


def kept():
    """Files that git keeps, or would keep: a new one counts before it is added."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others",
                          "--exclude-standard"], cwd=ROOT, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    return [Path(n) for n in out.splitlines()
            if not DATA.match(n) and (ROOT / n).is_file()]


def is_source(path):
    if path.suffix in SOURCE:
        return True
    if path.suffix:
        return False
    with open(ROOT / path, "rb") as f:
        return f.read(2) == b"#!"


def text_of(path):
    return (ROOT / path).read_text()


def functions(path):
    """Of a C file: (name, lines) of each function; its braces are in column 1."""
    before = ""
    start = None
    for number, line in enumerate(text_of(path).splitlines()):
        if line == "{":
            start = number
            name = re.findall(r"(\w+)[(),]", before.removeprefix("TEST("))
        elif line == "}" and start is not None:
            yield (name[0] if name else "?"), number - start + 1
            start, before = None, ""
        elif start is None:
            before = "" if not line or line[0] in "#/}" else before + line + " "


def opens_with_a_sentence(path):
    """Behind the licence comes a comment or a docstring that says what it is."""
    text = text_of(path)
    text = re.sub(r"\A#!.*\n", "", text)
    text = re.sub(r"\A(?:#|//|/\*) ?SPDX-License-Identifier:.*\n", "", text)
    text = re.sub(r"\A(?:#\n|\n)+", "", text)
    found = re.match(r'(/\*|"""|//|# )\W*(\w+)', text)
    return bool(found) and not found.group(2).startswith("SPDX")


def broken_comments():
    """Where clang-format wrapped a line of a comment that was too wide: an
    indented row of a drawing goes on in a line that is not indented, a text
    without the blank behind the asterisk, a heading in a line of its own."""
    broken = re.compile(r"\s*\*\t\s*\S.*\n\s*\* \w"
                        r"|\s*/?\*(\s.*)?(?<!\*/)\n\s*\*[^\s*/]"
                        r"|/\* ---- .*-\n \*/")
    for path in kept():
        if path.suffix not in (".c", ".h"):
            continue
        before = ""
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if broken.match(before + "\n" + line):
                yield "%s:%d: %s" % (path, number, line.strip())
            before = line


def riddles():
    """Comments that begin with "What", or go on from another line."""
    for path in kept():
        if path.suffix not in (".c", ".h", ".x"):
            continue
        text = text_of(path)
        for found in re.finditer(r"/\*[\s*]*(What\b|…|\.\.\.)", text):
            yield "%s:%d" % (path, text.count("\n", 0, found.start()) + 1)


def tags():
    """Struct tags that are defined in several files of the programs."""
    places = {}
    for path in kept():
        if path.suffix in (".c", ".h") and path.parts[0] in CODE:
            for tag in set(re.findall(r"^struct (\w+) \{", text_of(path), re.M)):
                places.setdefault(tag, []).append(str(path))
    for tag, where in sorted(places.items()):
        if len(where) > 1:
            yield "struct %s: %s" % (tag, " ".join(where))


def circles():
    """Folders that reach themselves by the includes that are there."""
    reach = {f: {includes.home(i) for p in includes.sources(f)
                 for i in includes.INCLUDE.findall(p.read_text())} - {f, None}
             for f in includes.ARROWS}
    for _ in reach:
        for f in reach:
            reach[f] = reach[f].union(*(reach[o] for o in reach[f]))
    return [f for f in reach if f in reach[f]]


def figures():
    """(what, bound, places): one row each; a place is a line of text."""
    files = kept()
    folders = Counter(str(p.parent) for p in files)
    code = [p for p in files if p.suffix in (".c", ".h")]
    long = sorted(((n, "%s: %s(), %d lines" % (p, f, n)) for p in code
                   if p.suffix == ".c" for f, n in functions(p)
                   if n > FUNCTION_LONG), reverse=True)
    source = [p for p in files if is_source(p)]
    sizes = {p: text_of(p).count("\n") for p in source}
    bad = list(includes.check_table()) + list(includes.check_includes())
    return [
        ("folders of more than %d files" % FOLDER_MAX, 0,
         ["%s: %d files" % f for f in folders.most_common() if f[1] > FOLDER_MAX]),
        ("arrows up", 0, bad),
        ("circles between folders", 0, circles()),
        ("functions of more than %d lines" % FUNCTION_MAX, 0,
         [text for n, text in long if n > FUNCTION_MAX]),
        ("functions of more than %d lines" % FUNCTION_LONG, 10,
         [text for n, text in long]),
        ("files of more than %d lines" % FILE_MAX, 3,
         ["%s: %d lines" % f for f in sorted(sizes.items(), key=lambda x: -x[1])
          if f[1] > FILE_MAX]),
        ("private headers of more than %d lines" % PRIVATE_MAX, HALLS_MAX,
         ["%s: %d lines" % (p, n) for p, n in sizes.items()
          if p.name.endswith("_private.h") and n > PRIVATE_MAX]),
        ("struct tags with several definitions", TAGS_MAX, list(tags())),
        ("files without an opening sentence", 0,
         [str(p) for p in source if not opens_with_a_sentence(p)]),
        ("comments that the formatter broke", 0, list(broken_comments())),
        ("comments that begin with \"What\" or …", RIDDLES_MAX, list(riddles())),
    ]


def main():
    rows = figures()
    failed = 0
    for what, bound, places in rows:
        bad = len(places) > bound
        failed += bad
        print("%-40s %4d  (at most %d)%s" % (what, len(places), bound,
                                             "  TOO MANY" if bad else ""))
        if bad or "--list" in sys.argv[1:]:
            for place in places:
                print("    " + place)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
