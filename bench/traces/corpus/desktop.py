# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages, perl, an editor, filters, package queries; and sessions in
which two jobs run at once. A label with `+` names both jobs of such a run;
their processes tell them apart."""
import glob

from builds import LUA, LUA_CLEAN, lua_source
from common import workload

PAGES = "printf open read stat fork poll socket mmap execve strtol qsort " \
    "getaddrinfo regex glob ftw signal pthreads inode ip tcp".split()


def debian_pages(w, place):
    w.corpus.debian(["manpages", "manpages-dev"], w.path(place))


@workload("man-groff")
def man_groff(w):
    """Manual pages formatted by groff and its macros, from below the root."""
    def command(pages):
        return "for p in %s; do for f in usr/share/man/man[237]/$p.[237]*; " \
            "do test -f $f && { case $f in *.gz) zcat $f;; *) cat $f;; esac" \
            "; } | groff -F $G/font -M $G/tmac -man -Tascii | tail -1; done;" \
            " done" % " ".join(pages)
    w.env["G"] = w.corpus.tools + "/usr/share/groff/1.22.4"
    debian_pages(w, "pages")
    w.round("fresh pages")
    w.run(command(PAGES[:12]), "pages")
    w.round("5% of the pages changed, and unpacked")
    w.sh("ls usr/share/man/man[237]/*.gz | awk 'NR % 20 == 0' | xargs gunzip;"
         " ls usr/share/man/man2/*.2 | while read f; do echo '.\\\" x' >> $f;"
         " done", "pages")
    w.run(command(PAGES[:12]), "pages")
    w.round("some other pages")
    w.run(command(PAGES[4:16]), "pages")
    w.round("one page removed, one added")
    w.sh("rm usr/share/man/man2/poll.2* && "
         "cp usr/share/man/man2/pipe.2* usr/share/man/man3/", "pages")
    w.run(command(PAGES[6:] + ["pipe"]), "pages")
    w.round("no change; and a second copy")
    w.run(command(PAGES[6:] + ["pipe"]), "pages")
    debian_pages(w, "second/pages")
    w.run(command(PAGES[6:] + ["pipe"]), "second/pages", suffix="@second")


@workload("man-apropos")
def man_apropos(w):
    """man's own machinery: mandb indexes part of the pages, whatis asks."""
    debian_pages(w, "pages")
    w.sh("rm -rf pages/usr/share/man/man[34]")
    w.env["MANPATH"] = w.path("pages/usr/share/man")
    command = "mandb -u -q ./usr/share/man; whatis -M ./usr/share/man open " \
        "stat; apropos -M ./usr/share/man socket | tail -3; true"
    w.round("fresh pages")
    w.run(command, "pages")
    w.round("no change")
    w.run(command, "pages")
    w.round("one page in twenty removed")
    w.sh("ls usr/share/man/man*/* | awk 'NR % 20 == 0' | xargs rm", "pages")
    w.run(command, "pages")
    w.round("pages of a section added")
    w.sh("cd usr/share/man && mkdir -p man3 && cp -pd man2/[a-f]* man3/",
         "pages")
    w.run(command, "pages")
    w.round("no change; and a second copy")
    w.run(command, "pages")
    w.sh("mkdir second && cp -a pages second/ && "
         "rm -rf second/pages/usr/share/man/index.db")
    w.run(command, "second/pages", suffix="@second")


@workload("perl-pod")
def perl_pod(w):
    """perl scripts that load many modules and format documentation."""
    w.write("work/main.pl", """
use strict; use warnings; use lib "lib";
use POSIX; use Data::Dumper; use File::Find; use Getopt::Long; use Storable;
use Encode; use Unicode::UCD; use Time::Local; use Text::Wrap; use Local::A;
use Pod::Text; use Pod::Man; use JSON::PP; use HTTP::Tiny; use IO::Socket;
print Dumper(Local::A::value());
for my $file (@ARGV) {
  my $out = ""; my $p = Pod::Text->new; $p->output_string(\\$out);
  $p->parse_file($file); print length($out), "\\n";
}
""")
    w.write("work/lib/Local/A.pm",
            "package Local::A; use Math::BigInt; sub value { 1 } 1;\n")
    pods = sorted(glob.glob(w.corpus.tools + "/usr/share/perl/5.36*/pod/"
                            "perl*.pod"))[:120]
    command = "perl main.pl " + " ".join(pods[2:70:6])
    w.round("fresh script")
    w.run(command, "work")
    w.round("the module changed")
    w.touch("work", [".pm"], share=1)
    w.run(command, "work")
    w.round("other documents")
    command = "perl main.pl " + " ".join(pods[2:110:7])
    w.run(command, "work")
    w.round("a module added")
    w.write("work/lib/Local/B.pm",
            "package Local::B; use CPAN::Meta; use Test::More; 1;\n")
    w.sh("sed -i 's/^package Local::A;/& use Local::B;/' lib/Local/A.pm",
         "work")
    w.run(command, "work")
    w.round("no change; and a second checkout")
    w.run(command, "work")
    w.sh("mkdir second && cp -r work second/")
    w.run(command, "second/work", suffix="@second")


def edit(names, pattern="changed"):
    """Shell text: open each file in vim with syntax, search, save. vim saves
    by rename; ctags runs before."""
    return "".join(
        "ctags -f tags *.c; vim -N -u ../../vimrc -i NONE -n -es "
        "-c 'set backupcopy=no' -c 'normal Go/* %s */' -c 'wq' %s; sleep "
        ".3; " % (pattern, name) for name in names)


def editing_setup(w, place):
    lua_source(w, place)
    w.write("vimrc", "set nocompatible\nfiletype plugin indent on\n"
            "syntax on\nset tags=tags\nset writebackup\n")
    w.sh("mkdir -p second; cp vimrc second/")


@workload("vim-session")
def vim_session(w):
    editing_setup(w, "work")
    w.round("fresh checkout")
    w.run(edit(["lvm.c", "lgc.c", "lvm.c"]) + "true", "work/src")
    w.round("some files edited again, others new")
    w.run(edit(["lvm.c", "lapi.h", "lstate.c"]) + "true", "work/src")
    w.round("the configuration changed, another language")
    w.sh("echo 'set number ruler' >> vimrc")
    w.write("work/src/notes.py", "import os\n")
    w.run(edit(["notes.py", "lgc.c", "Makefile"]) + "true", "work/src")
    w.round("a file removed, one added")
    w.sh("rm ltests.h; cp lgc.c lgc2.c", "work/src")
    w.run(edit(["lgc2.c", "lvm.c", "Makefile"]) + "true", "work/src")
    w.round("no change; and a second checkout")
    w.run(edit(["lgc2.c", "lvm.c", "Makefile"]) + "true", "work/src")
    editing_setup(w, "second/work")
    w.sh("cp lgc.c lgc2.c", "second/work/src")
    w.run(edit(["lgc2.c", "lvm.c", "Makefile"]) + "true", "second/work/src",
          suffix="@second")


@workload("vim+make-lua")
def vim_and_make(w):
    """An editor session beside a build of another checkout of the tree."""
    def both(place, names):
        w.run("(cd %s/src; %s true) & (cd %s-b; %s) & wait" % (
            place, edit(names), place, LUA))

    def fresh(place):
        editing_setup(w, place)
        w.sh("cp -r %s %s-b" % (place, place))
    fresh("work")
    w.round("fresh checkouts")
    both("work", ["lvm.c", "lgc.c"])
    w.round("5% of the sources changed")
    w.sh(LUA_CLEAN, "work-b")
    w.touch("work-b", [".c"], "// changed")
    both("work", ["lgc.c", "lstate.c"])
    w.round("rebuild after one change, other files edited")
    w.sh("rm src/l[a-m]*.o", "work-b")
    both("work", ["lapi.h", "Makefile", "lgc.c"])
    w.round("a file added to edit, all built")
    w.sh(LUA_CLEAN, "work-b")
    w.write("work/src/notes.py", "import os\n")
    both("work", ["notes.py", "lgc.c"])
    w.round("no change; and second checkouts")
    w.sh(LUA_CLEAN, "work-b")
    both("work", ["lvm.c", "lgc.c"])
    fresh("second/work")
    w.run("(cd second/work/src; %s true) & (cd second/work-b; %s) & wait" % (
        edit(["lvm.c", "lgc.c"]), LUA), suffix="@second")


@workload("python+git")
def python_and_git(w):
    """Two users at once: a program with large libraries, and git."""
    from trees import commit, history
    history(w, "attrs", ["22.2.0", "23.2.0"], 3)
    w.sh("cp -r work mine")
    w.sh("git checkout -q v0", "mine")
    job = "(python3 main.py) & (cd %s && git status --short && git log " \
        "--stat -n 4 && grep -rn --exclude-dir=.git 'def evolve' . && git " \
        "diff --stat v0) & wait"
    w.write("main.py", "import sympy, json, asyncio, sqlite3, unittest\n"
            "print(sympy.factor(sympy.Symbol('x')**2 - 1))\n")
    w.round("fresh environment and checkout")
    w.venv("venv", "sympy==1.11.1")
    w.run(job % "mine")
    w.round("commit: 5% of the files changed")
    w.touch("mine", [".py"])
    w.sh("git checkout -q -b topic", "mine")
    commit(w, "mine", "topic")
    w.run(job % "mine")
    w.round("upgrade of the library, the next release checked out")
    w.venv("venv", "sympy==1.13.1")
    w.sh("git checkout -q v1", "mine")
    w.run(job % "mine")
    w.round("a file added and one removed")
    w.sh("rm setup.py conftest.py; echo 'import os' > added.py; true", "mine")
    w.run(job % "mine")
    w.round("no change; and a second checkout")
    w.run(job % "mine")
    w.sh("git clone -q -b v1 work second/mine")
    w.run(job % "second/mine", suffix="@second")


@workload("node+man")
def node_and_man(w):
    """Two users at once: a JavaScript tool, and manual pages."""
    pages = "usr/share/man/man[23]/"
    w.env["G"] = w.corpus.tools + "/usr/share/groff/1.22.4"
    debian_pages(w, "pages")

    def job(place, names):
        return "(cd %s && node node_modules/.bin/prettier --check src; true)" \
            " & (cd pages; for p in %s; do zcat %s$p.[23].gz | groff -F " \
            "$G/font -M $G/tmac -man -Tascii | tail -1; sleep .1; done; true"\
            ") & wait" % (place, names, pages)
    from nodejs import write_modules
    write_modules(w, "work/src")
    w.write("work/src/a.css", "a { color: red }\n")
    w.write("work/src/a.md", "# a\n")
    w.round("fresh project")
    w.npm("work", "prettier@2.8.8")
    w.run(job("work", "stat read poll"))
    w.round("5% of the sources changed, other pages")
    w.touch("work/src", [".js"], "// changed")
    w.run(job("work", "read poll printf"))
    w.round("upgrade to prettier 3.3")
    w.npm("work", "prettier@3.3.3")
    w.run(job("work", "open read printf"))
    w.round("a source file added in another language")
    w.write("work/src/b.ts", "let a: number = 1\n")
    w.write("work/src/b.yaml", "a: 1\n")
    w.run(job("work", "open read printf mmap"))
    w.round("no change; and a second checkout")
    w.run(job("work", "open read printf mmap"))
    w.sh("mkdir second && cp -r work second/")
    w.run(job("second/work", "open read printf mmap"), suffix="@second")


@workload("filters")
def filters(w):
    """Tens of filters, each reading one input and writing one output, after
    the experiment of Lei & Duchamp; the inputs have 1 to 64 KiB."""
    tools = ["awk '{print $1}'", "gzip -c", "sed s/a/b/", "sort", "strings",
             "uniq", "base64", "grep -c a", "wc", "tr a-z A-Z", "cut -c1-9",
             "tac", "rev", "fold -w 40", "nl", "md5sum", "head -5", "tail -5",
             "expand", "od -c"]

    def script(place, order):
        w.write(place + "/run", "mkdir -p out\n" + "".join(
            "%s < in/%02d.txt > out/%02d.txt\n" % (tools[n % 20], n, n)
            for n in order))

    def fill(place):
        for n in range(44):
            w.write("%s/in/%02d.txt" % (place, n),
                    "a line of text %d\n" % n * (60 << n % 7))
    fill("work")
    order = list(range(40))
    script("work", order)
    w.round("fresh inputs")
    w.run("bash run", "work")
    w.round("5% of the inputs changed")
    w.touch("work/in", [".txt"])
    w.run("bash run", "work")
    w.round("one filter in ten moved to another place")
    for n in range(4):
        order.insert(w.random.randrange(40), order.pop(w.random.randrange(40)))
    script("work", order)
    w.run("bash run", "work")
    w.round("two inputs removed, four added")
    order = [n for n in order if n not in (7, 21)] + [40, 41, 42, 43]
    script("work", order)
    w.run("bash run", "work")
    w.round("no change; and a second copy")
    w.run("bash run", "work")
    fill("second/work")
    script("second/work", order)
    w.run("bash run", "second/work", suffix="@second")


@workload("dpkg-query")
def dpkg_query(w):
    """Package queries over a copy of a package database, made here."""
    def database(place):
        w.corpus.debian(["dpkg", "apt"], w.path(place, "programs"))
        info = place + "/admin/info"
        status = []
        for n in range(400):
            name = "lib%s%d" % ("abcdefgh"[n % 8], n)
            w.write("%s/%s.list" % (info, name), "/.\n" + "".join(
                "/usr/share/%s/file%d\n" % (name, m)
                for m in range(5 + n * 7 % 60)))
            w.write("%s/%s.md5sums" % (info, name), "".join(
                "%032x  usr/share/%s/file%d\n" % (m * n, name, m)
                for m in range(5 + n * 7 % 60)))
            status.append("Package: %s\nStatus: install ok installed\n"
                          "Maintainer: x\nArchitecture: amd64\nVersion: 1\n"
                          "Description: x\n\n" % name)
        w.write(place + "/admin/status", "".join(status))
        w.sh("mkdir -p updates triggers; touch available diversions "
             "statoverride", place + "/admin")
    command = "P=programs/usr/bin/dpkg-query; $P --admindir=admin -S file40 " \
        "| tail -1; $P --admindir=admin -W | tail -1; for n in 3 77 301; do " \
        "$P --admindir=admin -L lib%s$n | tail -1; done; true"
    database("work")
    w.round("fresh database")
    w.run(command % "d", "work")
    w.round("5% of the packages changed")
    w.touch("work/admin/info", [".list"], "/usr/share/changed")
    w.run(command % "d", "work")
    w.round("other questions")
    w.run(command % "f", "work")
    w.round("twenty packages removed")
    w.sh("rm info/liba1*.list; sed -i '/^Package: liba1/,/^$/d' status",
         "work/admin")
    w.run(command % "f", "work")
    w.round("no change; and a second copy")
    w.run(command % "f", "work")
    database("second/work")
    w.run(command % "f", "second/work", suffix="@second")


@workload("session-login")
def session_login(w):
    """A session's start: a shell with its start-up files, a prompt that asks
    git, a few small programs of the user."""
    w.env["PATH"] = w.path("bin") + ":" + w.env["PATH"]
    w.write(".profile", "for f in ~/.profile.d/*.sh; do . $f; done\n"
            ". ~/.bashrc\n")
    w.write(".bashrc", "for f in ~/.bash/*.bash; do . $f; done\n")
    for n in range(14):
        w.write(".profile.d/%02d.sh" % n, "export V%d=%d\n" % (n, n) * 30)
        w.write(".bash/%02d.bash" % n, "f%d() { :; }\n" % n * 30)
        w.write(".config/app%d/settings.ini" % n, "a=%d\n" % n * 50)
    for n in range(8):
        w.write("bin/tool%d" % n, "#!/usr/bin/env python3\nimport %s\n"
                "import configparser, glob, os, sys\n"
                "c = configparser.ConfigParser(strict=False)\n"
                "for n in sys.argv[1:]:\n    p = os.path.expanduser("
                "'~/.config/app' + n + '/settings.ini')\n    print(len(open("
                "p).read()))\n" % ("json email.message sqlite3 asyncio csv "
                                   "decimal xml.dom.minidom tarfile"
                                   .split()[n]))
    w.sh("chmod +x bin/*; git init -q src && cd src && cp -r ../bin . && "
         "git add . && git commit -qm one")
    command = "bash -l -c 'cd ~/src; git status -sb; for n in %s; do " \
        "tool$n $n $((n + 3)); done; cd; cat .config/*/settings.ini | wc'"
    w.round("fresh home")
    w.run(command % "1 2 3")
    w.round("the start-up files changed")
    w.touch(".bash", [".bash"], share=0.2)
    w.run(command % "1 2 3")
    w.round("other programs used")
    w.run(command % "2 3 5 0")
    w.round("a start-up file added, one removed, a program added")
    w.sh("rm .profile.d/05.sh; cp .profile.d/06.sh .profile.d/99.sh; "
         "cp bin/tool6 bin/tool9; mkdir -p .config/app14 && "
         "cp .config/app1/settings.ini .config/app14/")
    w.run(command % "2 3 6 7")
    w.round("no change; and a second home")
    w.run(command % "2 3 6 7")
    w.sh("mkdir second && cp -a bin src .[a-z]* second/")
    w.env["HOME"] = w.path("second")
    w.env["PATH"] = w.env["PATH"].replace(w.path("bin"),
                                          w.path("second/bin"))
    w.run(command % "2 3 6 7", suffix="@second")
