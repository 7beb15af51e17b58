# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses the next thing to do: queries and changes picked at random, and
races that are made on purpose. A part of the class Run of consistency.py."""
from consistency_changes import (BLOCKS, DEPTH_MAX, DIR_MODES, DIRS_MAX,
                                 FILE_MODES, FILES_MAX, NAMES, SIZES)
from consistency_model import DIR, LNK, REG


class Choices:
    """Picks objects, names and calls, with the random numbers of the run."""

    def pick(self, kind=None, gone=0.0):
        if self.gone and self.rng.random() < gone:
            some = [o for o in self.gone[-12:]
                    if o.fh and kind in (None, o.kind)]
        else:
            some = [o for o in self.objs
                    if o.fh and kind in (None, o.kind)]
        return self.rng.choice(some) if some else None

    def query(self, link):
        rng = self.rng
        what = rng.choices(
            ("getattr", "lookup", "access", "read", "readlink", "readdir"),
            (20, 28, 12, 25, 5, 10))[0]
        kind = {"lookup": DIR, "readdir": DIR, "read": REG,
                "readlink": LNK}.get(what)
        o = self.pick(kind, gone=0.08)
        if o is None:
            return
        if what == "lookup":
            self.q_lookup(link, o, rng.choice(NAMES))
        else:
            getattr(self, "q_" + what)(link, o)

    def depth(self, d):
        n = 0
        while d.parent:
            d, n = d.parent, n + 1
        return n

    def below(self, d, top):
        while d:
            if d is top:
                return True
            d = d.parent
        return False

    def pick_rename(self):
        d, e = self.pick(DIR), self.pick(DIR)
        if not d.entries:
            return None
        name, other = self.rng.choice(sorted(d.entries)), \
            self.rng.choice(NAMES)
        obj, victim = d.entries[name], e.entries.get(other)
        if obj.fh is None or obj is victim:
            return None
        if obj.kind == DIR and (self.below(e, obj) or
                                self.depth(e) >= DEPTH_MAX - 1):
            return None
        if victim and ((victim.kind == DIR) != (obj.kind == DIR) or
                       victim.entries or victim.fh is None):
            return None
        return self.c_rename(d, name, e, other)

    def pick_new(self):
        d, name = self.pick(DIR), self.rng.choice(NAMES)
        if name in d.entries:
            return self.c_exists(d, name) if self.rng.random() < 0.1 else None
        dirs = sum(o.kind == DIR for o in self.objs)
        kind = self.rng.choices((REG, DIR, LNK), (6, 3, 2))[0]
        if kind == DIR and (dirs >= DIRS_MAX or
                            self.depth(d) >= DEPTH_MAX):
            return None
        if kind == REG and len(self.objs) - dirs >= FILES_MAX:
            return None
        return self.c_new(kind, d, name)

    def pick_change(self):
        rng = self.rng
        what = rng.choices(("new", "write", "truncate", "chmod", "remove",
                            "rename", "link"), (25, 28, 8, 8, 12, 12, 7))[0]
        f, d = self.pick(REG), self.pick(DIR)
        if what == "new" or f is None:
            return self.pick_new()
        if what == "write":
            offset = rng.choice((0, f.state.size, rng.choice(BLOCKS),
                                 rng.randrange(70000)))
            count = rng.choice((1, 8, 100, 4096, 5000, 16384, 20000))
            return self.c_write(f, min(offset, 90000), count)
        if what == "truncate":
            return self.c_truncate(f, rng.choice(SIZES))
        if what == "chmod":
            o = rng.choice((f, d))
            return self.c_chmod(
                o, rng.choice(DIR_MODES if o is d else FILE_MODES))
        if what == "remove":
            name = rng.choice(sorted(d.entries)) if d.entries else None
            if name is None or d.entries[name].fh is None:
                return None
            return self.c_remove(d, name)
        if what == "rename":
            return self.pick_rename()
        name = rng.choice(NAMES)
        return None if name in d.entries else self.c_link(f, d, name)

    # ---- races that are made on purpose

    def race_data(self):
        """Two versions of equal size in one tick of the server's clock, and
        a look between them: no attribute tells them apart."""
        f, p = self.pick(REG), self.proxy[0]
        if f is None:
            return
        n = max(f.state.size, 1)
        n = min(n, 20000)
        if not self.change(self.c_write(f, 0, n), False):
            return
        self.q_read(p, f, 0, 65536)
        self.q_getattr(p, f)
        self.wire.drain()
        self.change(self.c_write(f, 0, n), False)
        self.q_read(p, f, 0, 65536)
        self.wire.drain()
        self.maybe_expire()
        self.q_getattr(p, f)
        self.q_read(p, f, 0, 65536)
        self.q_read(p, f, 0, 100)
        self.wire.drain()

    def race_names(self):
        """A name appears in the tick in which the directory was looked at."""
        d, p = self.pick(DIR), self.proxy[1]
        free = [n for n in NAMES if n not in d.entries]
        if len(free) < 2 or len(self.objs) > FILES_MAX + DIRS_MAX:
            return
        first, second = self.rng.sample(free, 2)
        if not self.change(self.c_new(REG, d, first), False):
            return
        self.q_lookup(p, d, second)
        self.q_lookup(p, d, first)
        self.q_readdir(p, d)
        self.wire.drain()
        self.change(self.c_new(REG, d, second), False)
        self.change(self.c_remove(d, first), False)
        self.q_lookup(p, d, first)
        self.wire.drain()
        self.maybe_expire()
        for name in (first, second):
            self.q_lookup(p, d, name)
        self.q_readdir(p, d)
        self.wire.drain()

    def race_wcc(self):
        """The proxy's client and another one change one directory at once:
        the other's change may hide between the first one's WCC values."""
        d, p = self.pick(DIR), self.proxy[0]
        free = [n for n in NAMES if n not in d.entries]
        if len(free) < 2 or len(self.objs) > FILES_MAX + DIRS_MAX:
            return
        mine, theirs = self.rng.sample(free, 2)
        self.q_readdir(p, d)
        self.q_lookup(p, d, theirs)
        self.wire.drain()
        both = [(mine, True), (theirs, False)]
        self.rng.shuffle(both)
        for name, own in both:
            self.change(self.c_new(REG, d, name), own, wait=False)
        self.q_lookup(p, d, theirs)
        self.wire.drain()
        self.q_lookup(p, d, mine)
        self.wire.drain()
        self.maybe_expire()
        self.q_lookup(p, d, theirs)
        self.q_readdir(p, d)
        self.wire.drain()

    def race_flight(self):
        """Looks that were sent before an own change must not outlive it."""
        f, p = self.pick(REG), self.proxy
        if f is None:
            return
        self.q_read(p[0], f, 0, 65536)
        self.q_getattr(p[0], f)
        if self.rng.random() < 0.5:
            self.q_access(p[0], f)
        c = self.c_write(f, 0, 4096) if self.rng.random() < 0.6 else \
            self.c_chmod(f, self.rng.choice(FILE_MODES))
        if not self.change(c, True, wait=False):
            return
        self.q_read(p[1], f, 0, 65536)
        self.wire.until(lambda: c not in self.flying)
        self.q_read(p[1], f, 0, 65536)
        self.q_getattr(p[1], f)
        self.q_access(p[1], f)
        self.wire.drain()

    def maybe_expire(self):
        if self.rng.random() < 0.5:
            self.wire.pause(self.opt.attr_timeout *
                            self.rng.choice((0.1, 1.1)))
