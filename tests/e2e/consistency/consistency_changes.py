# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes: the calls, and what each of them does to the model of the export
(see consistency_model.py). A part of the class Run of consistency.py."""
from errno import EIO

from consistency_model import (DIR, LNK, REG, Event, Obj, State, Violation,
                               content_resize, content_write, pattern)
import nfsraw
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
        self.again = False      # it was refused once, and is sent again

    def conflicts(self, other):
        return (self.alone & (other.alone | other.shared) or
                self.shared & other.alone)


class Changes:
    """The changes that can be made, and the changing."""

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

        c.count, c.obj = count, obj

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

    def ask_and_repeat(self, c):
        """As Linux does on an I/O error: it forgets what it was told."""
        c.again = True
        link = self.rng.choice(self.proxy)
        link.send(rpc.GETATTR, rpc.opaque(c.obj.fh), lambda *a: link.send(
            c.proc, c.body, lambda *b: self.changed(c, True, *b), OWNER),
            OWNER)

    def changed(self, c, own, t_sent, t_reply, r):
        # A WRITE that rests on attributes from before somebody else's change is
        # refused, until its client has asked for them.
        if (own and c.proc == rpc.WRITE and r["st"] == EIO and not c.again
                and any(not e.own for e in c.obj.chain[1:])):
            self.note("P <- %s: refused, and asked again" % c.text)
            return self.ask_and_repeat(c)
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
        # The reply itself tells of its own time, in every mode.
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
