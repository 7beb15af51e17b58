#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TeX's files and a book for it, for the job `tex`: tex.py DIR PACKAGE...

  texmf-dist  what these packages have of it, without sources
  texmf-var   what they have generated: pdfTeX's formats and font maps
  book        a book of five chapters with figures; the text means nothing

The guest runs the machine's pdflatex; all that it reads comes from here.
"""
import os
import random
import shutil
import struct
import subprocess
import sys
import zlib

CHAPTERS = 5
WORDS = """server block cache link time name file tree order reader kernel
client answer round trip number table mount page user group system network
disk memory part whole first second third known read written asked sent long
short slow distant near the a an of from by with without over under between
each every some no one two before after while where that which is was has
makes takes gives needs holds""".split()

PREAMBLE = r"""\documentclass[11pt,openany]{book}
\usepackage[english]{babel}
\usepackage[a4paper,margin=28mm,headheight=14pt]{geometry}
\usepackage{amsmath,amssymb,amsthm}
\usepackage{graphicx,xcolor}
\usepackage{booktabs,longtable,caption}
\usepackage{listings}
\usepackage{fancyhdr}
\usepackage[numbers]{natbib}
\usepackage[colorlinks,linkcolor=blue!50!black,citecolor=teal]{hyperref}
\graphicspath{{figures/}}
\lstset{basicstyle=\ttfamily\small,keywordstyle=\bfseries,
  commentstyle=\itshape\color{gray},numbers=left,frame=single}
\newtheorem{theorem}{Theorem}[chapter]
\theoremstyle{definition}
\newtheorem{definition}[theorem]{Definition}
\pagestyle{fancy}
\renewcommand{\labelitemi}{$\bullet$}
\title{On Reading Ahead}
\author{A. User \and A. N. Other}
\date{1 December 2024}
"""

MATHS = [
    r"\sum_{k=0}^{%d} \binom{%d}{k} x^k = (1 + x)^{%d}",
    r"\int_0^\infty e^{-x^2/%d} \, dx = \frac{\sqrt{%d \pi}}{2} + o(%d)",
    r"\mathfrak{A}_{%d} \cong \mathbb{Z}/%d\mathbb{Z} \times \mathcal{L}_{%d}",
    r"\lim_{n \to \infty} \Bigl(1 + \frac{%d}{n}\Bigr)^{n} = e^{%d}"
    r" \geqslant \prod_{i=1}^{%d} \alpha_i",
]

PROGRAMS = {"C": """static int look(struct tree *t, int n)
{
    /* %s */
    for (int i = 0; i < n; i++)
        if (t[i].key == %d)
            return i;
    return -1;
}""", "Python": """def look(tree, key=%d):
    # %s
    for i, node in enumerate(tree):
        if node.key == key:
            return i
    return None"""}


class Text:
    """Words of a fixed seed."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def number(self, most=99):
        return self.chance.randint(2, most)

    def words(self, n):
        return " ".join(self.chance.choices(WORDS, k=n))

    def sentence(self):
        words = self.chance.choices(WORDS, k=self.chance.randint(8, 20))
        face = self.chance.choice([r"\emph{%s}", r"\textbf{%s}", "%s", "%s",
                                   r"\texttt{%s}", r"\textsc{%s}",
                                   r"\textsf{%s}", "$%s_1$"])
        where = self.chance.randrange(1, len(words))
        words[where] = face % words[where]
        return " ".join(words).capitalize() + "."

    def paragraph(self):
        return "\n".join(self.sentence()
                         for _ in range(self.chance.randint(5, 9)))


def equation(text, label):
    form = text.chance.choice(MATHS)
    return "\\begin{equation}\\label{eq:%s}\n%s\n\\end{equation}" % (
        label, form % tuple(text.number(9) for _ in range(3)))


def aligned(text):
    return "\\begin{align*}\nf(x) &= %d x^2 + %d \\\\\n&= \\begin{pmatrix} " \
        "%d & %d \\\\ 0 & 1 \\end{pmatrix}\n\\end{align*}" % tuple(
            text.number() for _ in range(4))


def table(text, label):
    rows = " \\\\\n".join("%s & %d & %d" % (text.words(2), text.number(),
                                           text.number(9999))
                          for _ in range(8))
    return "\\begin{table}[tbp]\\centering\n\\caption{%s}\\label{tab:%s}\n" \
        "\\begin{tabular}{lrr}\\toprule\nwhat & calls & bytes \\\\\\midrule\n" \
        "%s \\\\\\bottomrule\n\\end{tabular}\\end{table}" % (
            text.words(6), label, rows)


def long_table(text):
    rows = " \\\\\n".join("%s & %d" % (text.words(4), text.number(9999))
                          for _ in range(40))
    return "\\begin{longtable}{lr}\\toprule\nwhat & bytes \\\\\\midrule\n" \
        "\\endhead\n%s \\\\\\bottomrule\n\\end{longtable}" % rows


def program(text, number):
    language = "C" if number % 2 else "Python"
    values = (text.words(4), text.number())
    if language == "Python":
        values = values[::-1]
    return "\\begin{lstlisting}[language=%s]\n%s\n\\end{lstlisting}" % (
        language, PROGRAMS[language] % values)


def figure(text, name, label):
    return "\\begin{figure}[tbp]\\centering\n\\includegraphics[width=" \
        ".6\\linewidth]{%s}\n\\caption{%s}\\label{fig:%s}\n\\end{figure}" % (
            name, text.words(9), label)


def chapter(n):
    text = Text(n)
    out = ["\\chapter{%s}\\label{ch:%d}" % (text.words(3).title(), n)]
    for s in range(1, 4):
        label = "%d.%d" % (n, s)
        out += ["\\section{%s}\\label{sec:%s}" % (text.words(4).capitalize(),
                                                 label),
                text.paragraph(), equation(text, label), text.paragraph(),
                "See section~\\ref{sec:%d.%d}, equation~\\eqref{eq:%s} and "
                "\\cite{b%d}." % (n % CHAPTERS + 1, s, label, text.number(12)),
                "\\begin{theorem}%s\\end{theorem}" % text.sentence()]
        out += [program(text, n) if s == 1 else table(text, label)
                if s == 2 else aligned(text), text.paragraph(),
                "\\subsection{%s}" % text.words(3).capitalize(),
                text.paragraph()]
    out += [figure(text, "plot%d.pdf" % n if n % 2 else "image%d.png" % n, n),
            "\\begin{itemize}\n%s\n\\end{itemize}" % "\n".join(
                "\\item " + text.sentence() for _ in range(4)),
            "Figure~\\ref{fig:%d}: \\verb|%s|." % (n, text.words(3))]
    if n % 3 == 0:
        out.append(long_table(text))
    return "\n\n".join(out) + "\n"


def book():
    text = Text(0)
    entries = "\n".join("\\bibitem{b%d} %s \\url{http://example.org/%d}." % (
        i, text.sentence(), i) for i in range(1, 13))
    chapters = "\n".join("\\include{chapters/chapter%d}" % n
                         for n in range(1, CHAPTERS + 1))
    return PREAMBLE + "\\begin{document}\n\\frontmatter\n\\maketitle\n" \
        "\\tableofcontents\n\\listoffigures\n\\mainmatter\n" + chapters + \
        "\n\\backmatter\n\\begin{thebibliography}{12}\n" + entries + \
        "\n\\end{thebibliography}\n\\end{document}\n"


def png(n):
    """Grey noise of 160 by 120 pixels, coarse enough to compress a little."""
    chance = random.Random(n)
    lines = b"".join(b"\0" + bytes(chance.randrange(16) * 16
                                   for _ in range(160)) for _ in range(120))
    out = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", struct.pack(">IIBBBBB", 160, 120, 8, 0, 0, 0,
                                             0)),
                       (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    return out


def pdf(n):
    """A zigzag line, of one page."""
    chance = random.Random(n)
    stream = "1 w 0 60 m\n" + "".join(
        "%d %d l\n" % (x, chance.randrange(120))
        for x in range(2, 240, 2)) + "S"
    objects = ["<</Type/Catalog/Pages 2 0 R>>",
               "<</Type/Pages/Kids[3 0 R]/Count 1>>",
               "<</Type/Page/Parent 2 0 R/MediaBox[0 0 240 120]/Contents "
               "4 0 R/Resources<<>>>>",
               "<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)]
    out, places = "%PDF-1.4\n", []
    for i, o in enumerate(objects):
        places.append(len(out))
        out += "%d 0 obj%s endobj\n" % (i + 1, o)
    return (out + "xref\n0 5\n0000000000 65535 f \n" + "".join(
        "%010d 00000 n \n" % p for p in places) +
        "trailer<</Size 5/Root 1 0 R>>startxref\n%d\n%%%%EOF\n" %
        len(out)).encode()


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def write_book(where):
    put(where + "/book.tex", book())
    for n in range(1, CHAPTERS + 1):
        put("%s/chapters/chapter%d.tex" % (where, n), chapter(n))
        if n % 2:
            put("%s/figures/plot%d.pdf" % (where, n), pdf(n))
        else:
            put("%s/figures/image%d.png" % (where, n), png(n))


def copy_distribution(where, packages):
    """Links become what they lead to, which may be outside of the tree."""
    dist = "/usr/share/texlive/texmf-dist/"
    names = subprocess.run(["dpkg", "-L"] + packages, check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    for name in names.splitlines():
        if name.startswith(dist) and os.path.isfile(name) and \
                not name.startswith(dist + "source/"):
            to = os.path.join(where, "texmf-dist", name[len(dist):])
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(name, to)
    # Other programs' formats are large, and pdfTeX reads none of them.
    shutil.copytree("/var/lib/texmf", where + "/texmf-var",
                    ignore=shutil.ignore_patterns("*lua*", "metafont", "*.log",
                                                  "ls-R-*"))
    subprocess.run(["mktexlsr", where + "/texmf-dist", where + "/texmf-var"],
                   check=True)


copy_distribution(sys.argv[1], sys.argv[2:])
write_book(sys.argv[1] + "/book")
