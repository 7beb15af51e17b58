#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts for the jobs mkdocs and asciidoctor: more.py pages|book DIR

  pages  mkdocs.yml and 40 pages of Markdown in six directories
  book   a book of AsciiDoc that includes 20 chapters

The words mean nothing and are always the same ones.
"""
import os
import random
import sys

WORDS = """server block cache link time name file tree order reader kernel
client answer round trip number table mount page user group system network
disk memory part whole first second third known read written asked sent long
short slow distant near each every some one two before after while where that
which makes takes gives needs holds""".split()


class Text:
    """Words of a fixed seed."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def words(self, n):
        return " ".join(self.chance.choices(WORDS, k=n))

    def title(self):
        return self.words(3).capitalize()

    def paragraph(self, strong):
        words = self.words(self.chance.randint(40, 90)).split()
        words[7] = strong % words[7]
        return " ".join(words).capitalize() + "."


def put(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def page(n):
    text = Text(n)
    out = ["# " + text.title(), ""]
    for _ in range(4):
        out += ["## " + text.title(), "", text.paragraph("**%s**"), "",
                "```python", "def look(tree, key=%d):" % text.chance.randint(
                    1, 99), "    return tree.get(key)", "```", "",
                "* " + text.words(6), "* " + text.words(9), "",
                "| what | calls |", "|---|---|",
                "| %s | %d |" % (text.words(2), text.chance.randint(1, 999)),
                ""]
    return out


def pages(where):
    for n in range(40):
        put("%s/docs/part%d/page%02d.md" % (where, n % 6, n), page(n))
    put(where + "/docs/index.md", ["# On reading ahead", "", Text(99).paragraph(
        "[%s](part0/page00.md)")])
    put(where + "/mkdocs.yml", ["site_name: On reading ahead",
                                "site_url: http://example.org/",
                                "theme: readthedocs"])


def chapter(n):
    text = Text(n)
    out = ["== " + text.title(), ""]
    for _ in range(3):
        out += ["=== " + text.title(), "", text.paragraph("*%s*"), "",
                ". " + text.words(6), ". " + text.words(8), "",
                "[source,c]", "----", "int look(int n) { return n + %d; }" %
                text.chance.randint(1, 99), "----", "", "|===",
                "|what |calls", "|%s |%d" % (text.words(2),
                                            text.chance.randint(1, 999)),
                "|===", "", "NOTE: " + text.words(12) + ".", ""]
    return out


def book(where):
    names = ["chapters/chapter%02d.adoc" % n for n in range(1, 21)]
    for n, name in enumerate(names):
        put(os.path.join(where, name), chapter(n))
    put(where + "/book.adoc", ["= On Reading Ahead", "A. User", ":toc:",
                               ":doctype: book", ""] +
        ["include::%s[]\n" % name for name in names])


{"pages": pages, "book": book}[sys.argv[1]](sys.argv[2])
