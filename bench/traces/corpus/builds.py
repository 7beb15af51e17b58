# SPDX-License-Identifier: GPL-2.0-or-later
"""C programs of Debian configured, compiled, linked, with the compiler, its
headers and libraries below the root too."""
from common import workload

CHANGE = "// changed"


def builds(w, source, configure, make, clean, other):
    """The source of a Debian package: a commit, a header changed, a file
    added and one removed, no change, a second checkout. `make` is recorded;
    the tree is cleaned before each. source: its name, or what unpacks it."""
    def fresh(place):
        if callable(source):
            source(w, place)
        else:
            w.corpus.debian_source(source, w.path(place))
        if configure:
            w.sh(configure, place)
    fresh("work")
    w.sh(clean, "work")
    w.round("fresh checkout")
    w.run(make, "work")
    w.round("commit: 5% of the sources changed")
    w.sh(clean, "work")
    w.touch("work", [".c"], CHANGE)
    w.run(make, "work")
    w.round("a header changed")
    w.sh(clean, "work")
    w.touch("work", [".h"], CHANGE)
    w.run(make, "work")
    w.round("a header added, used by 10% of the sources; one file removed")
    w.sh(clean, "work")
    w.write("work/added.h", "#include <time.h>\n#include <limits.h>\n")
    w.touch("work", [".c"], '#include "%s" //' % w.path("work/added.h"), 0.1)
    w.sh("rm -f " + other, "work")
    w.run(make, "work")
    w.round("no change; and a second checkout")
    w.sh(clean, "work")
    w.run(make, "work")
    w.sh("mkdir second")
    fresh("second/work")
    w.sh(clean, "second/work")
    w.run(make, "second/work", suffix="@second")


@workload("make-zlib")
def make_zlib(w):
    builds(w, "zlib", None, "./configure && make", "make distclean; true",
           "ChangeLog FAQ")


LUA_MAKEFILE = """\
CFLAGS = -O1 -std=gnu99 -DLUA_USE_POSIX -MMD
OBJECTS := $(patsubst %.c,%.o,$(filter-out lua.c luac.c ltests.c onelua.c,\
	$(wildcard l*.c)))
.PHONY: all
all: lua luac
lua luac: %: %.o liblua.a
	$(CC) -o $@ $^ -lm
liblua.a: $(OBJECTS)
	ar rcs $@ $^
-include $(wildcard *.d)
"""
LUA = "make -C src -f build.mk CC=\"$CC\" "
LUA_CLEAN = "cd src && rm -f *.o *.d *.a lua luac"


def lua_source(w, place):
    w.corpus.debian_source("lua5.4", w.path(place))
    w.write(place + "/src/build.mk", LUA_MAKEFILE)
    w.write(place + "/src/lua5.4-deb-multiarch.h",
            '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n')


@workload("make-j2-lua")
def make_j2_lua(w):
    builds(w, lua_source, None, LUA + "-j2", LUA_CLEAN, "README")


@workload("configure-hello")
def configure_hello(w):
    builds(w, "hello", None, "./configure -q", "make distclean; true",
           "NEWS")


@workload("make-j2-less")
def make_j2_less(w):
    w.corpus.debian(["libncurses-dev"], w.path("ncurses"))
    library = w.path("ncurses/usr/lib/x86_64-linux-gnu")
    w.sh("rm -f %s/*.so" % library)     # link with the archives
    w.env["CPPFLAGS"] = "-I" + w.path("ncurses/usr/include")
    w.env["LDFLAGS"] = "-L" + library
    builds(w, "less", "./configure -q", "make -j2", "make clean", "NEWS")


@workload("make-diffutils")
def make_diffutils(w):
    # Patched files are newer than what automake made of them: leave it so.
    flags = "ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:"
    make = "make -C lib all {0} && make -C src {0}".format(flags)
    builds(w, "diffutils", "./configure -q --disable-nls && " + make, make,
           "make -C lib mostlyclean {0}; make -C src clean {0}".format(flags),
           "NEWS")


@workload("rebuild-lua")
def rebuild_lua(w):
    """make after a change: each round changes other files."""
    lua_source(w, "work")
    make = LUA
    w.sh(make, "work")
    changes = [("one source changed", "lvm.c"), ("a header changed", "lgc.h"),
               ("three sources changed", "lapi.c lmem.c ltable.c"),
               ("the main header changed", "lua.h"),
               ("the first source changed again", "lvm.c")]
    for change, names in changes:
        w.round(change)
        w.sh("for f in %s; do echo '%s' >> $f; done" % (names, CHANGE),
             "work/src")
        w.run(make, "work")
    w.round("a second checkout, one source changed")
    w.sh("mkdir second && cp -a work second/work")
    w.sh("echo '%s' >> lvm.c" % CHANGE, "second/work/src")
    w.run(make, "second/work", suffix="@second")


@workload("link-objects")
def link_objects(w):
    """Linking alone: objects, archives, the C library, a linker script."""
    lua_source(w, "work")
    build = LUA
    w.sh(build, "work")
    link = "cd src && $CC -o lua lua.o liblua.a -lm && " \
        "$CC -o luac luac.o liblua.a -lm && ld -r -o whole.o l[a-o]*lib.o"
    w.round("fresh build")
    w.run(link, "work")
    w.round("5% of the objects changed")
    w.touch("work/src", [".c"], CHANGE)
    w.sh(build, "work")
    w.run(link, "work")
    w.round("all objects changed: optimised otherwise")
    w.sh(LUA_CLEAN + "; cd ..; " + build + " CFLAGS='-O2 -g'", "work")
    w.run(link, "work")
    w.round("one object added, one removed from the archive")
    w.sh("echo 'int added;' > ladded.c && $CC -c ladded.c && "
         "ar r liblua.a ladded.o && rm lutf8lib.o", "work/src")
    w.run(link, "work")
    w.round("no change; and a second checkout")
    w.run(link, "work")
    w.sh("mkdir second && cp -a work second/work")
    w.run(link, "second/work", suffix="@second")
