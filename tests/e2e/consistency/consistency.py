#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""consistency.py [options] PATH: two raw clients change files under each
other's eyes, one directly and one through the proxy; every answer that the
proxy's client gets is judged by consistency_model.py."""
import argparse
import os
import random
import sys

import consistency_faults
import nfsraw
from consistency_model import (DIR, INF, LNK, REG, Event, Judge, Obj,
                               State, Violation, content_resize,
                               content_write, pattern)
from nfsraw import now, rpc

OWNER, STRANGER = rpc.auth_sys(1000, 1000), rpc.auth_sys(2000, 2000)
# The owner may always do everything with directories, and read and write
# files: what is refused is what private.py is for.
FILE_MODES = (0o644, 0o600, 0o755, 0o666, 0o700, 0o604, 0o611)
DIR_MODES = (0o755, 0o700, 0o777, 0o711, 0o744)
NAMES = ["a", "b", "A", "c.txt", ".dot", "e", "f", "g", "lib.so", "x1"]
DIRS_MAX, FILES_MAX, DEPTH_MAX = 8, 40, 4
SIZES = (0, 1, 100, 4095, 4096, 5000, 16384, 16385, 40000, 65536, 70000)
BLOCKS = (0, 1, 512, 4096, 8192, 16384, 32768, 65536)


class Change:
    """One change: the call, what it touches, what it does to the model."""

    def __init__(self, proc, body, alone=(), shared=(), want=0):
        self.proc, self.body, self.want = proc, body, want
        # Whoever else is under way may share `shared`, but not `alone`.
        self.alone, self.shared = set(alone), set(shared)
        self.apply = lambda t, own: []
        self.new = None         # an object that it makes
        self.known = ()         # bindings that the proxy's client learns
        self.events = []
        self.text = ""

    def conflicts(self, other):
        return (self.alone & (other.alone | other.shared) or
                self.shared & other.alone)


class Run:
    def __init__(self, opt, seed, rng):
        self.opt, self.rng = opt, rng
        self.tag = self.idents = self.changes = self.failed_changes = 0
        self.wire = nfsraw.Wire()
        self.judge = Judge(*opt.bounds, eof_exact=opt.eof_exact)
        self.direct_judge = Judge(0, 0, eof_exact=opt.eof_exact)
        self.direct = nfsraw.Link(self.wire, *opt.direct)
        self.proxy = [self.proxy_link() for _ in range(2)]
        self.flying = []        # changes
        self.known = {}         # (dir, name) -> Obj, as the proxy saw it
        self.objs, self.gone = [], []
        self.log = []
        self.counts = {}
        self.top = self.make_top(seed)
        self.access = self.learn_access()

    def proxy_link(self):
        link = nfsraw.Link(self.wire, *self.opt.proxy)
        if self.opt.fault:
            link = consistency_faults.FAULTS[self.opt.fault](link, self.opt)
        return link

    # ---- setting up, through the direct client

    def make_top(self, seed):
        root = nfsraw.mount(*self.opt.mount, self.opt.path)
        name = "consistency-%s-%d-%d" % (self.opt.mode, seed, os.getpid())
        body = rpc.dirop(name, root) + rpc.sattr(0o755, 1000, 1000)
        _, _, r = self.direct.call(rpc.MKDIR, body, rpc.auth_sys(0, 0))
        assert r["st"] == 0, r
        top = Obj(DIR, 0)
        top.fh, top.fileid = r["fh"], r["attr"].fileid
        self.found(top, State(0o755, 2, 0, (), None, False), now())
        top.chain[0].reply = now()
        return top

    def learn_access(self):
        """What the server grants to whom under each mode: asked, since the
        rules are the server's."""
        table = {}
        for kind, modes, proc in ((REG, FILE_MODES, rpc.CREATE),
                                  (DIR, DIR_MODES, rpc.MKDIR)):
            how = rpc.u32(1) if kind == REG else b""
            body = rpc.dirop("probe", self.top.fh) + how + rpc.sattr(0o755)
            fh = self.direct.call(proc, body, OWNER)[2]["fh"]
            for mode in modes:
                self.direct.call(rpc.SETATTR, rpc.setattr_args(
                    fh, rpc.sattr(mode=mode)), OWNER)
                for who in (OWNER, STRANGER):
                    table[kind, mode, who] = self.direct.call(
                        rpc.ACCESS, rpc.access_args(fh), who)[2]["mask"]
            gone = rpc.REMOVE if kind == REG else rpc.RMDIR
            self.direct.call(gone, rpc.dirop("probe", self.top.fh), OWNER)
        return table

    # ---- the model's side of changes

    def found(self, obj, state, t):
        obj.chain.append(Event(t, False, state, "made"))
        self.objs.append(obj)
        return obj.chain[0]

    def fresh(self, kind, mode, t, own, target=b""):
        self.idents += 1
        obj = Obj(kind, self.idents, target)
        e = self.found(obj, State(mode, 2 if kind == DIR else 1,
                                  len(target), (), None, False), t)
        e.own = own
        return obj, e

    def knows(self, d, name, own):
        """Did the proxy learn which object this name means?"""
        return own and (self.opt.indirect or
                        self.known.get((d, name)) is d.entries.get(name))

    def dropped(self, obj, d, name, t, own, what):
        """A name of obj is gone."""
        obj.links.discard((d, name))
        own = self.knows(d, name, own)
        if obj.kind == DIR or obj.state.nlink == 1:
            self.objs.remove(obj)
            self.gone.append(obj)
            return obj.push(t, own, what, gone=True, nlink=0)
        return obj.push(t, own, what, nlink=obj.state.nlink - 1)

    def c_new(self, kind, d, name):
        mode = self.rng.choice(DIR_MODES if kind == DIR else FILE_MODES)
        target = b""
        if kind == REG:
            body = rpc.u32(self.rng.randrange(2)) + rpc.sattr(mode)
        elif kind == DIR:
            body = rpc.sattr(mode)
        else:
            mode, target = 0o777, b"to-%d" % self.rng.randrange(10 ** 6)
            body = rpc.sattr(mode) + rpc.opaque(target)
        proc = {REG: rpc.CREATE, DIR: rpc.MKDIR, LNK: rpc.SYMLINK}[kind]
        dirkey = "alone" if kind == DIR else "shared"
        c = Change(proc, rpc.dirop(name, d.fh) + body,
                   **{"alone": [(d, name)], dirkey: [d]})
        if kind == DIR:
            c.alone = {(d, name), d}

        def apply(t, own):
            obj, e = self.fresh(kind, mode, t, own, target)
            obj.links.add((d, name))
            obj.parent = d
            c.new, c.known = obj, [(d, name, obj)]
            more = 1 if kind == DIR else 0
            return [e, d.bind(name, obj, t, own, c.text),
                    d.push(t, own, c.text, nlink=d.state.nlink + more)]
        c.apply = apply
        c.text = "%s %r/%s %o" % (nfsraw.PROC_NAMES[proc], d, name, mode)
        return c

    def c_exists(self, d, name):
        """A CREATE that must fail: nothing changes."""
        c = Change(rpc.CREATE, rpc.dirop(name, d.fh) + rpc.u32(1) +
                   rpc.sattr(0o644), alone=[(d, name)], shared=[d],
                   want=rpc.EXIST)
        c.text = "CREATE (exists) %r/%s" % (d, name)
        return c

    def c_remove(self, d, name):
        obj = d.entries[name]
        is_dir = obj.kind == DIR
        proc = rpc.RMDIR if is_dir else rpc.REMOVE
        c = Change(proc, rpc.dirop(name, d.fh), alone=[(d, name), obj],
                   shared=[d])
        if is_dir:
            c.alone.add(d)
            if obj.entries:
                c.want = nfsraw.NOTEMPTY

        def apply(t, own):
            less = 1 if is_dir else 0
            return [self.dropped(obj, d, name, t, own, c.text),
                    d.bind(name, None, t, own, c.text),
                    d.push(t, own, c.text, nlink=d.state.nlink - less)]
        c.apply = apply
        c.text = "%s %r/%s (%r)" % (nfsraw.PROC_NAMES[proc], d, name, obj)
        return c

    def c_rename(self, d, name, e, other):
        obj, victim = d.entries[name], e.entries.get(other)
        c = Change(rpc.RENAME, rpc.dirop(name, d.fh) + rpc.dirop(other, e.fh),
                   alone=[(d, name), (e, other), obj], shared=[d, e])
        if victim:
            c.alone.add(victim)
        if obj.kind == DIR:
            c.alone |= {d, e}

        def apply(t, own):
            known = self.knows(d, name, own)
            out = []
            if victim:
                out.append(self.dropped(victim, e, other, t, own, c.text))
            out += [d.bind(name, None, t, own, c.text),
                    e.bind(other, obj, t, own, c.text)]
            obj.links.discard((d, name))
            obj.links.add((e, other))
            obj.parent = e
            moved = 1 if obj.kind == DIR else 0
            out.append(d.push(t, own, c.text, nlink=d.state.nlink - moved))
            add = moved - (1 if victim and victim.kind == DIR else 0)
            out.append(e.push(t, own, c.text, nlink=e.state.nlink + add))
            out.append(obj.push(t, known, c.text))
            c.known = [(e, other, obj)] if known else []
            return out
        c.apply = apply
        c.text = "RENAME %r/%s to %r/%s (%r over %r)" % (
            d, name, e, other, obj, victim)
        return c

    def c_link(self, obj, d, name):
        c = Change(rpc.LINK, rpc.link_args(obj.fh, name, d.fh),
                   alone=[(d, name), obj], shared=[d])

        def apply(t, own):
            obj.links.add((d, name))
            c.known = [(d, name, obj)]
            return [obj.push(t, own, c.text, nlink=obj.state.nlink + 1),
                    d.bind(name, obj, t, own, c.text),
                    d.push(t, own, c.text)]
        c.apply = apply
        c.text = "LINK %r at %r/%s" % (obj, d, name)
        return c

    def c_write(self, obj, offset, count):
        self.tag += 1
        data = pattern(self.tag, offset, count)
        c = Change(rpc.WRITE, rpc.write_args(
            data, obj.fh, offset, stable=self.rng.choice((0, 1, 2, 2))),
            alone=[obj])

        c.count = count

        def apply(t, own):
            e = obj.push(t, own, c.text)
            e.state = content_write(e.state, offset, data)
            return [e]
        c.apply = apply
        c.text = "WRITE w%d %d+%d of %r" % (self.tag, offset, count, obj)
        return c

    def c_truncate(self, obj, size):
        c = Change(rpc.SETATTR, rpc.setattr_args(
            obj.fh, rpc.sattr(size=size)), alone=[obj])

        def apply(t, own):
            e = obj.push(t, own, c.text)
            e.state = content_resize(e.state, size)
            return [e]
        c.apply = apply
        c.text = "SETATTR size %d of %r" % (size, obj)
        return c

    def c_chmod(self, obj, mode):
        c = Change(rpc.SETATTR, rpc.setattr_args(
            obj.fh, rpc.sattr(mode=mode)), alone=[obj])
        c.apply = lambda t, own: [obj.push(t, own, c.text, mode=mode)]
        c.text = "SETATTR mode %o of %r" % (mode, obj)
        return c

    # ---- doing a change

    def change(self, c, own, wait=True):
        """False where one under way is in its way, or a handle is missing."""
        if c is None or any(c.conflicts(f) for f in self.flying):
            return False
        link = self.rng.choice(self.proxy) if own else self.direct
        side = "P" if own else "D"
        t = now()
        if c.want == 0:
            c.events = c.apply(t, own)
        self.flying.append(c)
        self.changes += 1
        self.note("%s -> %s" % (side, c.text))
        link.send(c.proc, c.body,
                  lambda *a: self.changed(c, own, *a), OWNER)
        if wait:
            self.wire.until(lambda: c not in self.flying)
        return True

    def changed(self, c, own, t_sent, t_reply, r):
        self.flying.remove(c)
        for e in c.events:
            e.reply = t_reply
        self.note("%s <- %s: %d" % ("P" if own else "D", c.text, r["st"]))
        if r["st"] != c.want:
            raise Violation("%s by %s: status %d, want %d" % (
                c.text, "proxy" if own else "direct", r["st"], c.want))
        if c.want:
            self.failed_changes += 1
            return
        if c.new:
            c.new.fh = r["fh"]
            if r["attr"]:
                c.new.fileid = r["attr"].fileid
        if own:
            for d, name, obj in c.known:
                self.known[d, name] = obj
        if c.proc == rpc.WRITE and r["count"] != c.count:
            raise Violation("%s: %d written" % (c.text, r["count"]))
        if c.new and c.new.fh is None:
            raise Violation(c.text + ": no handle came")
        # What the reply itself says is of its own time, in every mode.
        if c.new:
            self.judge.attr(c.new, r["attr"], (t_sent, t_reply), c.text,
                            bound=0)

    def learn(self, objs):
        """The times that states have, where nothing else is under way."""
        if self.flying:
            return
        for o in {id(o): o for o in objs}.values():
            if o.fh is None or o.state.gone:
                continue
            r = self.direct.call(rpc.GETATTR, rpc.opaque(o.fh), OWNER)[2]
            if r["st"] == 0 and not self.flying:
                a, e = r["attr"], o.chain[-1]
                e.state = e.state._replace(times=(a.mtime, a.ctime))
                o.fileid = a.fileid

    # ---- queries

    def ask(self, link, proc, body, done, cred=OWNER):
        judge = self.direct_judge if link is self.direct else self.judge
        side = "D" if link is self.direct else "P"
        name = nfsraw.PROC_NAMES[proc]
        self.counts[name] = self.counts.get(name, 0) + (side == "P")
        learns = side == "P"

        def on_reply(t_sent, t_reply, r):
            if r["st"] == rpc.JUKEBOX:
                return
            self.note("%s <- %s of a call at %.4f: %s" % (
                side, name, t_sent, brief(r)))
            done(judge, (t_sent, t_reply), r, learns)
        link.send(proc, body, on_reply, cred)

    def q_getattr(self, link, o):
        def done(judge, times, r, learns):
            if judge.alive(o, r["st"], r.get("attr"), times, "GETATTR"):
                judge.attr(o, r["attr"], times, "GETATTR")
        self.ask(link, rpc.GETATTR, rpc.opaque(o.fh), done)

    def q_lookup(self, link, d, name):
        what = "LOOKUP"

        def done(judge, times, r, learns):
            if not judge.alive(d, r["st"], r.get("dir"), times, what):
                return
            judge.attr(d, r["dir"], times, what + " (directory)")
            objs = judge.name(d, name, times, what, r.get("fh"))
            if "fh" in r:
                obj = next((o for o in objs if o.fh == r["fh"]), None)
                if obj:
                    judge.attr(obj, r["attr"], times, what)
                if learns and obj:
                    self.known[d, name] = obj
            elif r["st"] != rpc.NOENT:
                raise Violation("LOOKUP: status %d" % r["st"])
        self.ask(link, rpc.LOOKUP, rpc.dirop(name, d.fh), done)

    def q_access(self, link, o):
        who = self.rng.choice((OWNER, STRANGER))
        asked = self.rng.choice((0x3f, 0x1f, 0x2d, 1, 3))

        def done(judge, times, r, learns):
            if not judge.alive(o, r["st"], r.get("attr"), times, "ACCESS"):
                return
            judge.attr(o, r["attr"], times, "ACCESS")
            w = judge.window(times)
            allowed = w.states(o.chain)
            grants = [self.access[o.kind, o.chain[i].state.mode, who] & asked
                      for i in allowed]
            if r["mask"] not in grants:
                judge.tell("ACCESS %#x of %r" % (asked, o), w, o.chain,
                           allowed, "granted %#x" % r["mask"])
        if o.kind != LNK:
            self.ask(link, rpc.ACCESS, rpc.access_args(o.fh, asked), done,
                     who)

    def q_readlink(self, link, o):
        def done(judge, times, r, learns):
            if judge.alive(o, r["st"], r.get("attr"), times, "READLINK"):
                judge.attr(o, r["attr"], times, "READLINK")
                if r["target"] != o.target:
                    raise Violation("READLINK of %r: %r" % (o, r["target"]))
        self.ask(link, rpc.READLINK, rpc.opaque(o.fh), done)

    def q_read(self, link, o, offset=None, count=None):
        if offset is None:
            offset = max(0, self.rng.choice(BLOCKS) +
                         self.rng.choice((0, 0, 0, 0, -1, 1, 700)))
            count = self.rng.choice((1, 100, 4096, 16384, 65536, 1 << 17))

        def done(judge, times, r, learns):
            judge.reads_overlap(o, *times)
            if judge.alive(o, r["st"], r.get("attr"), times, "READ"):
                judge.read(o, (offset, count), r, times)
                judge.attr(o, r["attr"], times, "READ")
        self.ask(link, rpc.READ, rpc.read_args(o.fh, offset, count), done)

    def q_readdir(self, link, d, plus=None):
        """All pages; other calls may go on meanwhile."""
        if plus is None:
            plus = self.rng.random() < 0.6
        small = self.rng.random() < 0.3
        what = "READDIRPLUS" if plus else "READDIR"
        proc = rpc.READDIRPLUS if plus else rpc.READDIR
        state = {"entries": [], "first": None}

        def page(cookie, verf):
            size = 512 if small else 8192
            body = rpc.opaque(d.fh) + rpc.u64(cookie) + verf + \
                (rpc.u32(size, size * 2) if plus else rpc.u32(size))
            self.ask(link, proc, body, done)

        def done(judge, times, r, learns):
            if state["first"] is None:
                state["first"] = times[0]
            if r["st"] == nfsraw.BAD_COOKIE:
                state.update(entries=[], first=None)
                page(0, b"\0" * 8)
                return
            if not judge.alive(d, r["st"], r.get("dir"), times, what):
                return
            judge.attr(d, r["dir"], times, what + " (directory)")
            if r["st"] != 0: # a cookie of a directory that changed, say
                return
            state["entries"] += [(e, times) for e in r["entries"]]
            if not r["eof"]:
                page(r["entries"][-1].cookie, r["verf"])
                return
            self.judge_listing(judge, d, state, times, what, learns)
        page(0, b"\0" * 8)

    def judge_listing(self, judge, d, state, times, what, learns):
        whole, listed = (state["first"], times[1]), set()
        for e, page_times in state["entries"]:
            if e.name in (".", ".."):
                continue
            listed.add(e.name)
            objs = judge.name(d, e.name, page_times, what, e.fh,
                              None if e.fh else e.fileid)
            obj = next((o for o in objs if o.fh == e.fh), None)
            if obj:
                # Entries of a page may be older than what was seen of
                # an object by itself, within the bound.
                judge.attr(obj, e.attr, page_times, what + " (entry)",
                           ordered=False)
                if learns:
                    self.known[d, e.name] = obj
            elif e.attr and not any(o.fileid in (None, e.attr.fileid)
                                    for o in objs):
                raise Violation("%s of %r: attributes of another file, %s: %r"
                                % (what, d, e.name, e.attr))
        # An absence that a listing shows is as old as the listing may be.
        saved, judge.negative_bound = judge.negative_bound, judge.bound
        for name in set(d.names) - listed:
            judge.name(d, name, whole, what)
        judge.negative_bound = saved

    # ---- choosing

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

    # ---- the run

    def note(self, text):
        self.log.append("%.4f %s" % (now(), text))
        if len(self.log) > 4000:
            del self.log[:2000]

    def step(self):
        rng = self.rng
        r = rng.random()
        if r < 0.60:
            self.query(rng.choice(self.proxy))
        elif r < 0.64:
            self.query(self.direct)
        elif r < 0.67:
            rng.choice((self.race_data, self.race_names, self.race_wcc,
                        self.race_flight))()
        else:
            own = rng.random() < 0.45
            wait = rng.random() < 0.6
            c = self.pick_change()
            if self.change(c, own, wait) and wait:
                self.learn([o for o in c.alone | c.shared
                            if isinstance(o, Obj)])
        if rng.random() < 0.5:
            self.wire.drain()
        elif self.wire.busy() > 8:
            self.wire.drain(4)
        self.maybe_pause()

    def maybe_pause(self):
        """The time that passes is what is tested: expiry, and the ticks of
        the server's clock."""
        r = self.rng.random()
        if r < 0.012:
            self.wire.pause(self.rng.random() * 1.5 * self.opt.attr_timeout)
        elif r < 0.05:
            self.wire.pause(self.rng.random() * 0.03)

    def everything(self):
        """At the end both look at all there is."""
        for link in (self.direct, self.proxy[0]):
            for o in self.objs + self.gone[-20:]:
                if o.fh is None:
                    continue
                self.q_getattr(link, o)
                if o.kind == DIR:
                    self.q_readdir(link, o)
                if o.kind == REG:
                    self.q_read(link, o, 0, 1 << 17)
                self.wire.drain()

    def go(self):
        done = 0
        while self.changes + sum(self.counts.values()) < self.opt.ops:
            self.step()
            done += 1
        self.wire.drain()
        self.everything()

    def summary(self):
        j = self.judge
        ages = ", ".join("%s %.0f ms" % (k, v * 1000)
                         for k, v in j.oldest.items())
        return "%d changes, %s; %d facts judged, %d old; oldest: %s" % (
            self.changes, ", ".join("%d %s" % (n, k) for k, n in
                                    sorted(self.counts.items())),
            j.judged, j.old, ages)


def brief(r):
    out = ["st %d" % r["st"]]
    for k in ("fh", "attr", "dir", "mask", "eof", "target"):
        v = r.get(k)
        if isinstance(v, nfsraw.Fattr):
            v = "[size %d mode %o nlink %d ctime %s]" % (
                v.size, v.mode & 0o7777, v.nlink, v.ctime)
        elif isinstance(v, bytes):
            v = v.hex()[-16:]
        if v is not None:
            out.append("%s %s" % (k, v))
    if "entries" in r:
        out.append(" ".join(e.name for e in r["entries"]))
    if "data" in r:
        out.append("%d bytes" % len(r["data"]))
    return " ".join(out)


def one(opt, seed):
    rng = random.Random(seed)
    run, t = None, now()
    try:
        run = Run(opt, seed, rng)
        run.go()
    except (Violation, nfsraw.RpcError) as e:
        print("%s seed %d: %s" % (opt.mode, seed, e or type(e)))
        if run and opt.log:
            print("  the last of what happened:")
            print("\n".join("    " + l for l in run.log[-opt.log:]))
        return False
    print("%s seed %d, %.0f s: %s" % (opt.mode, seed, now() - t,
                                      run.summary()))
    return True


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("path", help="the export")
    p.add_argument("--direct", type=endpoint, required=True)
    p.add_argument("--mount", type=endpoint, required=True,
                   help="MOUNT of the server")
    p.add_argument("--proxy", type=endpoint, required=True)
    p.add_argument("--mode", choices=("strict", "bounded", "frozen"),
                   default="strict")
    p.add_argument("--ops", type=int, default=2000)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--attr-timeout", type=float, default=0.3)
    p.add_argument("--negative-timeout", type=float, default=0.2)
    p.add_argument("--slack", type=float, default=0.002)
    p.add_argument("--eof-lax", action="store_true",
                   help="eof may be left out where a READ ends at the end")
    p.add_argument("--indirect", action="store_true",
                   help="an own REMOVE shows in nlink even where the proxy "
                        "was never told which file the name means")
    p.add_argument("--fault", choices=sorted(consistency_faults.FAULTS))
    p.add_argument("--log", type=int, default=40)
    opt = p.parse_args()
    opt.eof_exact = not opt.eof_lax
    opt.bounds = {
        "strict": (0, 0),
        "bounded": (opt.attr_timeout + opt.slack,
                    min(opt.attr_timeout, opt.negative_timeout) + opt.slack),
        "frozen": (INF, INF)}[opt.mode]
    return opt


def main():
    opt = arguments()
    seed = opt.seed
    if seed is None:
        seed = random.SystemRandom().randrange(10 ** 6)
    sys.exit(0 if one(opt, seed) else 1)


if __name__ == "__main__":
    main()
