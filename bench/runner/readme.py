# SPDX-License-Identifier: GPL-2.0-or-later
"""README's figures, taken from docs/report.md.

README has each of them in a block between two comments, <!-- figures NAME -->
and <!-- end -->. write() makes the blocks anew; a test fails while README has
other figures than the report.
"""
import os
import re

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
REPORT = os.path.join(ROOT, "docs", "report.md")
README = os.path.join(ROOT, "README.md")
BLOCK = re.compile(r"(<!-- figures (\w+) -->\n)(.*?)(<!-- end -->\n)", re.S)

COLUMNS = ["job, seconds", "NFSv3", "FS-Cache, warm", "forefetch, trained",
           "floor", "forefetch, first run", "faster than NFSv3"]


class Wrong(Exception):
    """The report or README has not what is looked for; the text says what."""


def find(what, pattern, text):
    match = re.search(pattern, text)
    if not match:
        raise Wrong("docs/report.md does not have " + what)
    return match


def short(seconds):
    """As README has them: 101.3, 2.66, 0.50."""
    try:
        return ("%.1f" if float(seconds) >= 10 else "%.2f") % float(seconds)
    except ValueError:
        return seconds


def jobs(report):
    """The table of jobs: their words, NFSv3, trained, floor, first run."""
    section = find("the section \"In one table\"", r"(?s)## In one table\n(.*?)\n## ", report)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    out = ["| job | NFSv3 | forefetch, trained | floor | first run ever |",
           "|---|---|---|---|---|"]
    if not rows or rows[0] != COLUMNS or \
            any(len(row) != len(COLUMNS) for row in rows):
        raise Wrong("docs/report.md: the table of jobs has other columns")
    for name, direct, _, ours, floor, first, _ in rows[2:]:
        out.append("| %s | %s | %s | %s | %s |" % (
            name, *map(short, (direct, ours.split(" ")[0], floor, first))))
    return "\n".join(out)


def median(report):
    fast, slow = find("the sentence on what is trained, in the median",
                      r"trained: ([\d.]+) × as fast as NFSv3 .* takes ([\d.]+) ×",
                      report).groups()
    return "In the median of these jobs, forefetch, once trained, is %.0f times " \
        "as fast as NFSv3,\nand takes %.1f times as long as the floor." % (
            float(fast), float(slow))


def losses(report):
    """What is slower on a network without a link, at its worst."""
    first = [(float(times), float(s)) for times, s in re.findall(
        r"- read-1m on lan, .* first run ever: ([\d.]+) × the direct mount "
        r"\(([\d.]+) s\)", report)]
    shares = [float(share) for share in re.findall(
        r"- load-knfsd, .*: ([\d.]+) × the calls a second", report)]
    said = []
    if first:
        said.append("reading 8 MiB for the first\n  time took up to %.2f times as "
                    "long as without it (%.2f s)" % max(first))
    if shares:
        said.append("a kernel server\n  under full load answered %s times as many "
                    "calls a second through it" % " to ".join(
                        "%.2f" % x for x in sorted({min(shares), max(shares)})))
    return "- On a fast local network it gains little and can lose: " + \
        ", and ".join(said) + "\n  ([report](docs/report.md), \"What got worse\")." \
        if said else "- On a fast local network it gains little."


# By the name of a row in the report: its name in README, and for how long such
# a mount may show a stale name, or stale attributes of a file (nfs(5)).
KERNEL = "the kernel's own: names 30 to 60 s, files 3 to 60 s"
PRESET = "the kernel's own: names 1 to 60 s, files 3 to 60 s"
OTHERS = {
    "NFSv3": ("NFSv3", KERNEL),
    "NFSv4.2": ("NFSv4.2", KERNEL),
    "nfs-ganesha as a proxy": ("nfs-ganesha as a proxy", "not measured"),
    "sshfs": ("sshfs", "not measured"),
    "NFSv3 + FS-Cache, warm": ("NFSv3 + FS-Cache", KERNEL),
    "rclone serve nfs": ("rclone serve nfs", "five minutes"),
    "forefetch": ("forefetch, `bounded` (default)",
                  "3 s, and on top " + PRESET),
    "forefetch, strict": ("forefetch, `strict`", PRESET),
}


def others(report):
    """The table of other ways to mount a server, and below it those that could
    not be measured. The kernel's NFS takes as long the first time as later,
    since its caches are emptied before each run."""
    section = find("the section on other ways to mount",
                   r"(?s)## NFSv4.2, FS-Cache, sshfs[^\n]*\n(.*?)\n## ", report)[1]
    out = ["| | first run | later runs | names and attributes may be stale for |",
           "|---|---|---|---|"]
    for line in section.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if len(row) < 4 or row[1] not in OTHERS:
            continue
        name, stale = OTHERS[row[1]]
        later = short(row[2].split(" ")[0])
        first = later if row[1].startswith("NFSv") else short(row[3])
        out.append("| %s | %s | %s | %s |" % (
            name, "not measured" if first == "–" else first, later, stale))
    if len(out) == 2:
        raise Wrong("docs/report.md: the table of other ways has other columns")
    out += ["\n%s is not among them: %s." % (
        name, why.replace("this kernel", "the lab's kernel"))
        for name, why in re.findall(
            r"- (.*?)(?:, warm)? is not available here: (.*)", report)]
    return "\n".join(out)


MAKE = {"jobs": jobs, "median": median, "losses": losses, "others": others}


def fill(readme, report):
    """README's text with the report's figures in it."""
    missing = set(MAKE) - {m[2] for m in BLOCK.finditer(readme)}
    if missing:
        raise Wrong("README.md has no block " + ", ".join(sorted(missing)))

    def block(match):
        if match[2] not in MAKE:
            raise Wrong("README.md has a block of no meaning: " + match[2])
        return match[1] + MAKE[match[2]](report) + "\n" + match[4]

    return BLOCK.sub(block, readme)


def texts():
    """README as it is, and as the report would have it."""
    with open(REPORT) as report, open(README) as readme:
        old = readme.read()
        return old, fill(old, report.read())


def write():
    """Returns the path that was written, or None where nothing changes."""
    old, new = texts()
    if old == new:
        return None
    with open(README, "w") as f:
        f.write(new)
    return README
