# SPDX-License-Identifier: GPL-2.0-or-later
"""The experiments that can be run, and their cells.

A cell is one command, which prints or saves JSON:
  id       its name, also of its file
  kind     how figures.py reads the JSON: jobs, filters, harm, load, ...
  link     for the report; the command has its own
  argv     below bench/; OUT stands for the file to save to (else stdout),
           BUILD for the build directory, SEED for the seed
  sets     trees that bench/jobs/run must have prepared
  minutes  how long it takes about, on two cores
  group    what the report puts together
"""
import os

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
OUT, BUILD, SEED = "@OUT@", "@BUILD@", "@SEED@"

# The presets of bench/lab/run; wireless is used with and without loss.
LINKS = {
    "none": "no emulation", "lan": "1 Gb/s, 0.2 ms",
    "wired": "10 Mb/s, 1 ms", "wireless": "2 Mb/s, 20 ms",
    "wireless-loss": "2 Mb/s, 20 ms, 1% loss", "wifi": "20 Mb/s, 10 ms, jitter",
    "wan": "20 Mb/s, 40 ms", "mobile": "1 to 8 Mb/s, 80 ms",
    "satellite": "10 Mb/s, 600 ms",
}
TODAY = "import-1,node-1,git,grep-500,filters-4".split(",")
TODAY_SMALL = \
    "status,log,checkout,tree-grep,compile-all,editor,login".split(",")
# The proxy keeps what it has learned, names and attributes, but no data.
NO_DATA = ("--restart", "each", "--between", 'rm -rf "$ARM_CACHE"/*/data')
FEW_ARMS = "off,bounded,frozen"
EVERY_ARM = "off,first-block,bounded,frozen,strict"
# The cases of bench/patterns that are in AASFP's tables.
PAPER = "forward-1,forward-2,backward-1,backward-2,orthonormal-4," \
    "orthonormal-32,oblique-4,oblique-32,fft-256K,fft-512K"
EVERY_PEER = "nfs4,fscache,sshfs,ganesha,rclone"

# The jobs of bench/jobs/run in words, for those who read the report.
JOBS = {
    "node": "node loads webpack, eslint, typescript and babel",
    "node-1": "node loads babel", "import-1": "python imports numpy",
    "ls": "ls -l of a directory of 1,100 files",
    "git": "git status, 4,300 files", "grep-500": "grep -r, 500 documents",
    "status": "git status, 600 files", "log": "git log --stat, 20 commits",
    "checkout": "git checkout of a branch and back",
    "tree-grep": "grep -r in a repository of 600 files",
    "compile-4": "4 C files compiled, two at a time",
    "compile-all": "24 C files compiled, two at a time",
    "editor": "an editor session", "login": "a login",
    "tex": "pdflatex, two passes over a book",
    "farm": "eight clients, four C files compiled on each",
    "andrew-copy": "Andrew: copy", "andrew-stat": "Andrew: stat",
    "andrew-read": "Andrew: read", "andrew-make": "Andrew: compile",
    "ld": "200 objects linked", "index": "an index of 800 documents",
    "zstd": "a newer version compiled", "read-1m": "8 MiB read by 1 MiB",
    "grep": "grep -r of 283 headers in a tree of 4,300 files",
    "import": "python imports numpy, scipy, pandas, matplotlib",
    "compile": "12 C files compiled, two at a time",
    "prettier": "prettier checks a tree (npm)",
    "mkdocs": "mkdocs makes a site (pip)",
    "exiftool": "exiftool reads its samples (Perl, Debian)",
    "asciidoctor": "asciidoctor and Ruby, all in the export (Debian)",
    "ctags": "ctags -R over C++ sources (npm)",
    "closure": "the closure compiler, one jar (Java, npm)",
}


class Cell:
    def __init__(self, name, kind, link, argv, minutes, sets=(), save=True,
                 group=None, needs=()):
        self.id, self.kind, self.link = name, kind, link
        self.argv, self.minutes, self.sets = argv, minutes, tuple(sets)
        self.save, self.group, self.needs = save, group or name, needs


class Experiment:
    def __init__(self, name, title, cells):
        self.name, self.title, self._cells = name, title, cells

    def cells(self, quick):
        made = self._cells(quick)
        for c in made:
            c.experiment = self.name
        return made


def link_options(link):
    if link == "wireless":
        return ["--link", "wireless", "--loss", "-"]
    if link == "wireless-loss":
        return ["--link", "wireless"]
    if link == "mobile":
        return ["--link", "mobile", "--vary"]
    return ["--link", link]


def jobs(name, link, jobs, minutes, arms="bounded", peers="", n=5, train=2,
         direct=1, sets=("seeds",), group=None, extra=(), needs=()):
    argv = ["jobs", "--jobs", ",".join(jobs), "--arms", arms,
            "-n", str(n), "--train", str(train), "--direct", str(direct),
            "--restart", "never", "--seed", SEED, "--build", BUILD,
            "--save", OUT] + link_options(link) + list(extra)
    if peers:
        argv += ["--peers", peers]
    return Cell(name, "jobs", link, argv, minutes, sets, group=group,
                needs=needs)


def headline(quick):
    return [jobs("headline", "wan", ["node", "git", "grep-500", "ls"], 9.5,
                 sets=["headline"])]


def today(quick):
    """Every arm and peer at wan (the small jobs': in `peers`), five elsewhere."""
    few = {"arms": FEW_ARMS, "peers": "fscache"}
    every = {"arms": EVERY_ARM, "peers": EVERY_PEER}
    if quick:
        return [jobs("today-" + link, link, chosen, minutes, n=n, **few)
                for link, chosen, minutes, n in (
                    ("wan", ["tree-grep", "editor", "login"], 9, 3),
                    ("wireless", ["status"], 2.5, 2),
                    ("mobile", ["editor"], 3.5, 2))]
    out = []
    for link, minutes in (("wan", 30), ("wireless", 20),
                          ("wireless-loss", 22), ("wifi", 12), ("mobile", 45),
                          ("wired", 7), ("lan", 6)):
        out.append(jobs("today-small-" + link, link, TODAY_SMALL, minutes,
                        n=6, train=3, direct=2, group="today-" + link, **few))
    out.append(jobs("today-small-satellite", "satellite", ["status", "login"],
                    60, group="today-satellite", **few))
    for link, minutes, arms in (("wan", 70, every), ("wireless", 30, few),
                                ("mobile", 60, few)):
        out.append(jobs("today-" + link, link, TODAY, minutes, n=6, train=3,
                        sets=["jobs"], group="today-" + link, **arms))
    # TeX has cells of its own: a run takes minutes if no cache answers it.
    for link, minutes, arms in (("wan", 50, every), ("wireless", 20, few),
                                ("wired", 5, few)):
        out.append(jobs("today-tex-" + link, link, ["tex"], minutes, n=6,
                        train=3, sets=["tex"], needs=["tex"],
                        group="today-" + link, **arms))
    return out


def peers(quick):
    return [jobs("peers", "wan", ["tree-grep"] if quick else TODAY_SMALL,
                 4.5 if quick else 80, "first-block,bounded,strict", EVERY_PEER,
                 2 if quick else 10, train=1 if quick else 3,
                 direct=1 if quick else 5)]


def leiduchamp(quick):
    blocks = "1,4,16" if quick else "1,2,4,8,16,32"
    n = "2" if quick else "10"
    out = []
    for link in ("wired", "wireless"):
        out.append(Cell(
            "filters-" + link, "filters", link,
            ["filters", "--blocks", blocks, "--links", link, "--rsize",
             "default", "-n", n, "--train", "2", "--build", BUILD,
             "--seed", SEED, "--save", OUT],
            (2 if link == "wired" else 3) * (1 if quick else 10), ["seeds"]))
        out.append(jobs("builds-" + link, link,
                        ["compile-4" if quick else "compile-all"],
                        1 if quick else 30, "first-block,off",
                        n=3 if quick else 10, direct=2 if quick else 5,
                        extra=NO_DATA))
    return out


def kroegerlong(quick):
    n, train = (2, 3) if quick else (20, 3)
    return [jobs("kroegerlong", "wired" if quick else "wan",
                 ["andrew-make", "ld", "index", "zstd"], 4.5 if quick else 90,
                 "bounded", "" if quick else "fscache", n, train,
                 direct=1 if quick else 5),
            ] + ([] if quick else [
        jobs("andrew-phases", "wan",
             ["andrew-copy", "andrew-stat", "andrew-read", "andrew-make"], 30,
             EVERY_ARM, "fscache", 20, 3, 5)])


def legion(quick):
    return [jobs("legion", "lan", ["read-1m"], 1,
                 "off,frozen", n=5 if quick else 20, direct=5 if quick else 20)]


def warm(quick):
    """With ten minutes of rest behind each run it is not for a quick set. On
    kernel 7.2 the peer has directory delegations."""
    if quick:
        return []
    return [jobs("warm", "wan", ["node", "git", "grep"], 260, "bounded", "nfs4",
                 n=3, direct=3, sets=["jobs"], extra=("--again", "0,75,600"))]


def farm(quick):
    return [jobs("farm", "wan", ["farm"], 2 if quick else 25,
                 "bounded" if quick else "bounded,frozen",
                 n=2 if quick else 10, train=1 if quick else 3)]


def machines(quick):
    """One job and three machines take six minutes, all of it half a night."""
    return [Cell("machines", "machines", "wan",
                 ["farm", "--build", BUILD, "--seed", SEED, "--json", OUT] +
                 (["--rows", "a,b", "--jobs", "node", "-n", "1", "--train", "1",
                   "--direct", "0", "--machines", "3"] if quick else
                  ["-n", "5", "--bytes", "2"]), 5 if quick else 300,
                 ["headline" if quick else "jobs"], needs=["redis"])]


def first(quick):
    """First runs ever. At 600 ms a direct run of git takes an hour."""
    def cell(name, link, minutes, options, sets, needs=()):
        return Cell("first-" + name, "first", link,
                    ["first", "--link", link, "--build", BUILD, "--save", OUT]
                    + options, minutes, sets, group="first-" + link,
                    needs=needs)

    if quick:
        return [cell("wan", "wan", 1.5, ["--quick"], ["seeds"])]
    out = []
    for link, minutes in (("wan", 45), ("wireless", 45), ("lan", 5)):
        out += [cell("jobs-" + link, link, minutes, ["--sets", "jobs"],
                     ["jobs"]),
                cell("seeds-" + link, link, minutes / 2, ["--sets", "seeds"],
                     ["seeds"]),
                cell("tex-" + link, link, minutes / 4, ["--sets", "tex"],
                     ["tex"], ["tex"]),
                cell("more-" + link, link, minutes / 2, ["--sets", "more"],
                     ["more"], ["more"])]
    out.append(cell("seeds-satellite", "satellite", 45, [
        "--jobs", "login,editor,compile-4,filters-4"], ["seeds"]))
    out.append(cell("jobs-satellite", "satellite", 30, ["--jobs", "node-1"],
                    ["jobs"]))
    for job, others in (("node", "git,import-1"), ("git", "node"),
                        ("grep-all", "node,git")):
        out.append(cell("after-" + job, "wan", 20, [
            "--jobs", others, "--after", job, "--gone", "--direct", "0"],
            ["jobs"]))
    return out


def harm(quick):
    small = ["--cases", "random,find,names", "--reads", "100", "--files",
             "2000", "--find", "4000", "--names", "4000", "--pairs", "2"] \
        if quick else ["--pairs", "5"]
    return [Cell("harm", "harm", "wireless",
                 ["harm", "--build", BUILD, "--save", OUT] + small,
                 4.5 if quick else 60)]


def load(quick):
    out = []
    for connections in (1, 10, 100):
        out.append(Cell(
            "load-ganesha-%d" % connections, "load", "none",
            ["loopback", "--build", BUILD, "--nfsload", "@NFSLOAD@", "--modes",
             "bounded,frozen", "--json", "--", "--mix",
             "getattr=40,lookup=30,access=20,read=10", "--size", "16K",
             "--connections", str(connections), "--prime",
             "--duration", "1s" if quick else "5s",
             "--rounds", "3" if quick else "15"],
            0.5 if quick else 4, save=False, group="load", needs=["root"]))
    out.append(Cell("load-knfsd", "load", "none",
                    ["lab", "--build", BUILD, "--no-mount", "--timeout", "1800",
                     "--env", "LOAD_NFSLOAD=@NFSLOAD@",
                     "--env", "LOAD_ROUNDS=" + ("2" if quick else "9"),
                     "load/guest.sh"], 1 if quick else 5, save=False,
                    group="load"))
    return out


def million(quick):
    files = 20000 if quick else 1000000
    # ext4 has an inode for 16 KiB.
    return [Cell("million", "million", "lan",
                 ["lab", "--build", BUILD, "--link", "lan", "--disk", "24G",
                  "--mem", "3072M", "--timeout", "14400", "--env",
                  "MILLION_FILES=%d" % files, "million/guest.sh"],
                 0.5 if quick else 60, save=False)]


def soak(quick):
    rounds = 25 if quick else 600
    return [Cell("soak", "soak", "wireless",
                 ["lab", "--build", BUILD, "--link", "wireless", "--rtt",
                  "5ms", "--rate", "50mbit", "--loss", "-", "--mem", "1536M",
                  "--timeout", "14400", "--env", "SOAK_ROUNDS=%d" % rounds,
                  "--disk-image", "@IMAGE:seeds@", "soak/guest.sh"],
                 2 if quick else 60, ["seeds"], save=False)]


def other(name, quick_options, full_options=(), sets=(), needs=()):
    """A script that may not be there yet: then the report says so."""
    def cells(quick):
        options = quick_options if quick else full_options
        return [Cell(name, "other", "-", [name, "--json", "--build", BUILD] +
                     list(options), 2 if quick else 20, sets, save=False,
                     needs=["script", *needs])]
    return cells


ALL = [
    Experiment("headline", "node start, git status, grep -r of 500 files, ls -l, "
               "at 40 ms and 20 Mb/s", headline),
    Experiment("today", "today's jobs, on every link", today),
    Experiment("peers", "NFSv4.2, FS-Cache, sshfs, nfs-ganesha and rclone beside "
               "every mode", peers),
    Experiment("leiduchamp", "filters and builds (Lei and Duchamp, 1997)",
               leiduchamp),
    Experiment("kroegerlong", "Andrew, ld, an index, a newer version built "
               "(Kroeger and Long, 2001)", kroegerlong),
    Experiment("legion", "reads of 1 MB (Legion, 2000)", legion),
    Experiment("warm", "the same job again on the mount as it is: at once, after "
               "75 s, after ten minutes", warm),
    Experiment("farm", "eight clients of one proxy build at once", farm),
    Experiment("machines", "machines that share by one engine what they fetched "
               "and learned", machines),
    Experiment("first", "first runs ever: nothing cached, nothing learned",
               first),
    Experiment("harm", "where prefetch cannot help, on and off in turns",
               harm),
    Experiment("load", "calls a second beside nfs-ganesha and knfsd", load),
    Experiment("million", "a tree of a million files", million),
    Experiment("soak", "a day, compressed: memory and descriptors", soak),
    Experiment("patterns", "reads backward, with strides, irregular (AASFP, "
               "2002)", other("patterns", ["-n", "2", "--cases", PAPER])),
    Experiment("hints", "reads in a random order, with hints (AASFP, 2002)",
               other("hints", ["-n", "3", "--cases", "blocks"])),
    Experiment("sessions", "mounts and logins replayed (Ubuntu prefetch)",
               other("sessions", ["-n", "3", "--train", "3", "--cases",
                                  "gone", "--direct", "0"],
                     sets=["headline"])),
    Experiment("layout", "the disk cache in the order of use (Ubuntu "
               "prefetch)", other("layout", ["--runs", "3", "--files",
                                             "100"])),
    Experiment("copies", "payload bytes copied for each byte read (Legion)",
               other("copies", ["--runs", "3"], needs=["root"])),
]


def choose(names):
    known = {e.name: e for e in ALL}
    if "all" in names:
        return ALL
    return [known[n] for n in dict.fromkeys(names)]
