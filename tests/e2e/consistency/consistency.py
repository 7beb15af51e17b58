#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""consistency.py [options] PATH: two raw clients change files under each
other's eyes, one directly and one through the proxy; every answer that the
proxy's client gets is judged by consistency_model.py."""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import nfsraw  # noqa: E402
from nfsraw import now, rpc  # noqa: E402
import consistency_faults  # noqa: E402
from consistency_changes import (  # noqa: E402
    BLOCKS, DIR_MODES, FILE_MODES, OWNER, STRANGER, Changes)
from consistency_choices import Choices  # noqa: E402
from consistency_model import (  # noqa: E402
    DIR, INF, LNK, REG, Judge, Obj, State, Violation)


class Run(Changes, Choices):
    """The two clients, the model, and all that happens."""

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
        """Asks the server what it grants to whom under each mode, since the
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
