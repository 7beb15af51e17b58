# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections as Markdown and as one page of HTML (report.py has their form)."""
import html
import re

import plots

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --dim: #5d6873;
  --paper: #fdfdfb; --line: #d9dee3; --good: #1c7a4d; --bad: #b3372b;
  --band: #f2f4f6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ea; --dim: #98a3ad;
  --paper: #14181c; --line: #333b43; --good: #58c48d; --bad: #f0796c;
  --band: #1c2227; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; max-width: 76rem;
  padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem;
  border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p.under, nav { color: var(--dim); margin: .2rem 0; }
nav a { color: inherit; margin-right: 1em; }
p.lead { font-size: 1.15rem; max-width: 60rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; margin: .6rem 0;
  font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; font-weight: 600;
  color: var(--dim); }
th, td { padding: .22rem .6rem .22rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
td.n { white-space: nowrap; }
td.job { font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
svg { max-width: 100%; height: auto; }
code { font-size: .92em; overflow-wrap: anywhere; }
ul { max-width: 64rem; }
"""


def plain(value):
    if isinstance(value, float):
        return "%.4g" % value
    return "–" if value is None else str(value)


def anchor(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


# --- Markdown ----------------------------------------------------------------

def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def markdown(title, under, sections):
    out = ["# " + title, "", under, ""]
    for name, blocks in sections:
        out += ["## " + name, ""]
        for block in blocks:
            if block[0] == "text":
                out += [block[1], ""]
            elif block[0] == "list":
                out += ["- " + item for item in block[1]] + [""]
            elif block[0] == "table":
                head, rows = block[1:]
                out.append("| " + " | ".join(map(cell, head)) + " |")
                out.append("|" + "---|" * len(head))
                out += ["| " + " | ".join(map(cell, r)) + " |" for r in rows]
                out.append("")
            elif block[1] == "headline":
                out += ["![%s](report-headline.svg)" % block[3], ""]
    return "\n".join(out).rstrip() + "\n"


# --- HTML --------------------------------------------------------------------

def rich(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]*)\*\*", r'<span class="bad">\1</span>', text)
    for word, style in (("NOT met", "bad"), ("WRONG", "bad"),
                        ("FAILED", "bad")):
        text = text.replace(word, '<span class="%s">%s</span>' % (style, word))
    return text


def table_cell(text, first):
    if text == "met":
        return '<td class="good">met</td>'
    style = "job" if first else "n" if len(text) < 28 else ""
    return "<td%s>%s</td>" % (style and ' class="%s"' % style, rich(text))


def table(head, rows):
    out = ['<div class="wide"><table><tr>']
    out += ["<th>%s</th>" % rich(h) for h in head] + ["</tr>"]
    for r in rows:
        out.append("<tr>" + "".join(
            table_cell(c, i == 0) for i, c in enumerate(r)) + "</tr>")
    return "\n".join(out + ["</table></div>"])


def page(title, under, sections):
    out = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
           '<meta name="viewport" content="width=device-width, '
           'initial-scale=1">',
           "<title>%s</title><style>%s</style></head><body>" % (
               html.escape(title), STYLE),
           "<h1>%s</h1>" % html.escape(title),
           '<p class="under">%s</p>' % rich(under), "<nav>"]
    out += ['<a href="#%s">%s</a>' % (anchor(n), html.escape(n))
            for n, _ in sections]
    out.append("</nav>")
    for i, (name, blocks) in enumerate(sections):
        out.append('<h2 id="%s">%s</h2>' % (anchor(name), html.escape(name)))
        for j, block in enumerate(blocks):
            if block[0] == "text":
                lead = ' class="lead"' if i == 0 and j == 0 else ""
                out.append("<p%s>%s</p>" % (lead, rich(block[1])))
            elif block[0] == "list":
                out += ["<ul>"] + ["<li>%s</li>" % rich(x)
                                   for x in block[1]] + ["</ul>"]
            elif block[0] == "table":
                out.append(table(*block[1:]))
            else:
                picture = plots.unique(block[2], "p%d-%d" % (i, j))
                out.append('<figure role="img" aria-label="%s" style="margin:'
                           '0">%s</figure>' % (html.escape(block[3]), picture))
    return "\n".join(out + ["</body></html>", ""])


def lone_svg(text):
    return '<?xml version="1.0" encoding="utf-8"?>\n' + text.rstrip() + "\n"
