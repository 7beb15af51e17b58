# SPDX-License-Identifier: GPL-2.0-or-later
"""Proxies that are wrong on purpose, so that consistency.py can be seen to
find it.  Each stands in for a Link; `right` is no fault and must pass."""
from nfsraw import CHANGES, now, rpc

QUERIES = (rpc.GETATTR, rpc.LOOKUP, rpc.ACCESS, rpc.READ, rpc.READLINK,
           rpc.READDIR, rpc.READDIRPLUS)


class Fault:
    """Keeps answers for less than attr_timeout; any own change empties the
    cache.  Only GETATTR tells attributes, which else would go back in time
    where an old answer comes after a newer one to another procedure."""
    life = 0.5
    procs = QUERIES

    def __init__(self, link, opt):
        self.link, self.opt = link, opt
        self.calls = link.calls
        self.epoch = opt.__dict__.setdefault("fault_epoch", [0])
        self.cache = opt.__dict__.setdefault("fault_cache", {})

    def lifetime(self):
        return {"strict": 0, "bounded": self.opt.attr_timeout,
                "frozen": 1e9}[self.opt.mode] * self.life

    def changed(self, proc, result):
        self.epoch[0] += 1
        self.cache.clear()

    def key(self, proc, body, cred):
        return proc, body, cred

    def hit(self, key):
        kept = self.cache.get(key)
        if kept and now() - kept[0] < self.lifetime():
            return kept[1]
        return None

    def send(self, proc, body, done, cred=None):
        t = now()
        if proc in CHANGES:
            self.send_change(proc, body, done, cred)
            return t
        key = self.key(proc, body, cred)
        kept = self.hit(key) if proc in self.procs else None
        if kept is not None:
            done(t, now(), kept)
            return t
        epoch = self.epoch[0]

        def store(t_sent, t_reply, r):
            seen = r.get("attr") or r.get("dir")
            if seen and seen.nlink == 0: # removed, but still open there
                self.cache.clear()
            else:
                r = self.kept(proc, key, r, t_sent, epoch)
            done(t, t_reply, r)
        self.link.send(proc, body, store, cred)
        return t

    def kept(self, proc, key, r, t_sent, epoch):
        if proc != rpc.GETATTR:
            r = dict(r, attr=None, dir=None)
        newer = key in self.cache and self.cache[key][0] > t_sent
        if epoch == self.epoch[0] and not newer:
            self.cache[key] = (t_sent, r)
        return r

    def send_change(self, proc, body, done, cred):
        # Before and after: no flight from before it may fill the cache.
        self.changed(proc, None)

        def reply(t_sent, t_reply, r):
            self.changed(proc, r)
            done(t_sent, t_reply, r)
        self.link.send(proc, body, reply, cred)


class Right(Fault):
    pass


class Stale(Fault):
    """Keeps answers for too long."""
    life = 2.5

    def lifetime(self):
        return max(0.02, super().lifetime())


class StaleNames(Stale):
    procs = (rpc.LOOKUP,)


class Own(Right):
    """Own changes leave what is cached as it is."""

    def lifetime(self):
        return max(0.02, super().lifetime())

    def changed(self, proc, result):
        pass


class Racy(Right):
    """Data is kept as long as size, mtime and ctime are the same; each READ
    asks for the attributes first, so it seems strict."""

    def send(self, proc, body, done, cred=None):
        if proc != rpc.READ:
            return self.link.send(proc, body, done, cred)
        t = now()
        fh = rpc.Reader(body).opaque()
        versions = self.cache

        def on_attr(t_sent, t_reply, r):
            a = r.get("attr")
            version = a and (a.size, a.mtime, a.ctime)
            kept = versions.get(body)
            if version and kept and kept[0] == version:
                done(t, t_reply, dict(kept[1], attr=a))
                return
            self.link.send(proc, body, on_read, cred)

        def on_read(t_sent, t_reply, r):
            a = r.get("attr")
            if a and r["st"] == 0:
                versions[body] = ((a.size, a.mtime, a.ctime), r)
            done(t, t_reply, r)
        self.link.send(rpc.GETATTR, rpc.opaque(fh), on_attr, cred)
        return t


class Mix(Fault):
    """A READ consists of two halves, the first of which may be cached."""
    procs = ()

    def lifetime(self):
        return {"strict": 0.05}.get(self.opt.mode, super().lifetime())

    def send(self, proc, body, done, cred=None):
        if proc != rpc.READ:
            return super().send(proc, body, done, cred)
        t = now()

        def mend(t_sent, t_reply, r):
            kept = self.hit(body)
            if kept and r["st"] == 0 and len(r["data"]) > 4096:
                old = kept["data"][:4096]
                r = dict(r, data=old + r["data"][len(old):])
            elif r["st"] == 0 and len(r["data"]) > 4096:
                self.cache[body] = (t_sent, r)
            done(t, t_reply, r)
        self.link.send(proc, body, mend, cred)
        return t


class Reorder(Right):
    """Answers of two calls in flight may come in the wrong order: the
    attributes of the earlier one are given out after those of the later."""
    procs = ()

    def __init__(self, link, opt):
        super().__init__(link, opt)
        self.last = opt.__dict__.setdefault("fault_last", {})

    def send(self, proc, body, done, cred=None):
        if proc != rpc.GETATTR:
            return super().send(proc, body, done, cred)

        def swap(t_sent, t_reply, r):
            before = self.last.get(body)
            self.last[body] = None if before else r
            done(t_sent, t_reply, before or r)
        return self.link.send(proc, body, swap, cred)


class Absent(Fault):
    """An absent name stays absent until the own client makes it."""
    procs = (rpc.LOOKUP,)

    def lifetime(self):
        return 1.0 if self.opt.mode == "strict" else \
            3 * self.opt.attr_timeout

    def hit(self, key):
        kept = super().hit(key)
        return kept if kept and kept["st"] == rpc.NOENT else None


FAULTS = {"right": Right, "stale": Stale, "stale-names": StaleNames,
          "own": Own, "racy": Racy, "mix": Mix, "reorder": Reorder,
          "absent": Absent}
