#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests, functions, constants and files that the documents in DOCS name are
there.

Names stand between backquotes. A test is `FILE: NAME`, and the names behind it
are of the same file; a function is `name()`, a constant is in capitals. Where a
name is only an example, it has NAME in it. Links of all documents must lead to
a file of this repository.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ("docs/CONTRACT.md", "docs/ARCHITECTURE.md", "docs/EXTENDING.md", "docs/OPERATING.md",
        "docs/DEVELOPING.md", "CONTRIBUTING.md", "SECURITY.md")
CODE = ("hashing", "nfsproto", "predictor", "proxy", "cli", "hint")
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"([\w./-]+\.(?:c|h|py|sh|scenario|proto))(?:: (.+))?$")
TEST = re.compile(r"(test_\w+|[A-Z]\w+(\.test_\w+)?)$")
FUNCTION = re.compile(r"(?:[\w.]+: )?(\w+)\(\)$")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]{5,}$")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def sources():
    """Path to text of all files that may be named."""
    found = {}
    for top in CODE + ("tests", "bench", "docs"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and FILE.match(path.name):
                found["/" + str(path.relative_to(ROOT))] = path.read_text(errors="replace")
    return found


def has_word(texts, word):
    return any(re.search(r"\b%s\b" % re.escape(word), text) for text in texts)


class Names:
    def __init__(self):
        self.files = sources()
        tops = tuple("/%s/" % top for top in CODE)
        self.code = [t for p, t in self.files.items() if p.startswith(tops)]
        self.options = [p.read_text() for p in (ROOT / "CMakeLists.txt",
                                                ROOT / "tests/CMakeLists.txt")]

    def named(self, file):
        """Texts of the files of this name, which may have a part of its path."""
        return [t for p, t in self.files.items() if p.endswith("/" + file)]

    def wrong_file(self, file, inside):
        texts = self.named(file)
        if not texts:
            return "there is no %s" % file
        inside = (inside or "").removesuffix("()")
        if re.match(r"[\w.]+$", inside):
            for part in inside.split("."):
                if not has_word(texts, part):
                    return "%s has no %s" % (file, part)
        return None

    def wrong(self, name, file):
        """Why a quoted name is wrong, or None; `file` is the last one named."""
        function = FUNCTION.match(name)
        match = FILE.match(name)
        if "NAME" in name:
            return None
        if match:
            return self.wrong_file(*match.groups())
        if function and not has_word(self.code, function[1]):
            return "there is no function %s()" % function[1]
        if file and TEST.match(name) and not CONSTANT.match(name):
            return self.wrong_file(file, name)
        if CONSTANT.match(name) and not has_word(self.code + self.options, name):
            return "there is no %s" % name
        return None


def check(doc, names):
    for number, line in enumerate((ROOT / doc).read_text().splitlines(), 1):
        file = None
        for quoted in QUOTED.findall(line):
            why = names.wrong(quoted, file)
            if why:
                yield "%s:%d: `%s`: %s" % (doc, number, quoted, why)
            match = FILE.match(quoted)
            if match and "test" in match[1]:
                file = match[1]


def dead_links():
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for target in LINK.findall(line):
                if not (path.parent / target).exists():
                    yield "%s:%d: there is no %s" % (path.relative_to(ROOT), number, target)


def main():
    names = Names()
    bad = [w for doc in DOCS for w in check(doc, names)] + list(dead_links())
    for line in bad:
        print(line)
    print("docs: %d wrong" % len(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
