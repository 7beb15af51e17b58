#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""private.py [options] EXPORT: no user gets through the proxy what the server
would deny that user, whatever others have just read.

Compared is each procedure's answer, direct and through the proxy, for each
credential and each handle; all handles are known to everybody, since a handle
gives no right.  Objects are made by way of DIR, the export as the server sees
it, or by a raw client as root where --raw (nfs-ganesha caches what it knows).
"""
import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import nfsraw # noqa: E402
from nfsraw import now, rpc # noqa: E402

ALICE, BOB, TEAM = 3001, 3002, 4000
MANY = list(range(5000, 5015))
USERS = {
    "root": rpc.auth_sys(0, 0),
    "owner": rpc.auth_sys(ALICE, ALICE),
    "member": rpc.auth_sys(BOB, BOB, MANY + [TEAM]),
    # The same groups in another order: the same rights.
    "member-reordered": rpc.auth_sys(BOB, BOB, [TEAM] + MANY[::-1]),
    # The same user without the group: none of them.
    "ex-member": rpc.auth_sys(BOB, BOB, MANY),
    "gid-member": rpc.auth_sys(3004, TEAM),
    "stranger": rpc.auth_sys(3003, 3003),
    "stranger-gid0": rpc.auth_sys(3005, 0),
    "nobody": rpc.auth_sys(65534, 65534),
}
FILE_MODES = (0o600, 0o640, 0o644, 0o000, 0o060, 0o004, 0o200, 0o711)
DIR_MODES = (0o700, 0o750, 0o755, 0o711, 0o744, 0o710, 0o000)
NAMES = ("secret", "absent", ".hidden")


class Failed(Exception):
    pass


class Tree:
    """Objects of every mode, made by root through the direct client."""

    def __init__(self, t):
        self.t, self.objs = t, []
        name = "private-%s-%d" % (t.opt.mode, time.time_ns() % 10 ** 9)
        self.top = self.mkdir(t.root, name, 0o755)
        for mode in FILE_MODES:
            fh = self.create(self.top, "f%03o" % mode, mode)
            self.objs.append(("f%03o" % mode, fh, self.top))
        for mode in DIR_MODES:
            self.add_dir(mode)

    def add_dir(self, mode):
        d = self.mkdir(self.top, "d%03o" % mode, 0o755)
        inner = self.create(d, "secret", 0o644)
        hidden = self.create(d, ".hidden", 0o600)
        link = self.symlink(d, "link", b"where-it-points")
        self.setattr(d, mode)
        name = "d%03o" % mode
        self.objs += [(name, d, self.top), (name + "/secret", inner, d),
                      (name + "/.hidden", hidden, d), (name + "/link", link, d)]

    def do(self, proc, body):
        r = self.t.maker.call(proc, body, self.t.maker_cred)[2]
        if r["st"] != 0:
            raise Failed("%s: status %d" % (nfsraw.PROC_NAMES[proc], r["st"]))
        return r

    def mkdir(self, d, name, mode):
        return self.do(rpc.MKDIR, rpc.dirop(name, d) +
                       rpc.sattr(mode, ALICE, TEAM))["fh"]

    def create(self, d, name, mode):
        fh = self.do(rpc.CREATE, rpc.dirop(name, d) + rpc.u32(1) +
                     rpc.sattr(0o600, ALICE, TEAM))["fh"]
        text = ("contents of %s " % name).encode() * 300
        self.do(rpc.WRITE, rpc.write_args(text, fh))
        self.setattr(fh, mode)
        return fh

    def symlink(self, d, name, target):
        return self.do(rpc.SYMLINK, rpc.dirop(name, d) +
                       rpc.sattr(0o777, ALICE, TEAM) +
                       rpc.opaque(target))["fh"]

    def setattr(self, fh, mode):
        self.do(rpc.SETATTR, rpc.setattr_args(fh, rpc.sattr(mode=mode)))


def calls(fh):
    """Everything that can be asked about a handle without changing it."""
    yield "GETATTR", rpc.GETATTR, rpc.opaque(fh)
    for mask in (0x3f, 0x01, 0x2d, 0x02):
        yield "ACCESS %#x" % mask, rpc.ACCESS, rpc.access_args(fh, mask)
    for name in NAMES:
        yield "LOOKUP " + name, rpc.LOOKUP, rpc.dirop(name, fh)
    for offset, count in ((0, 16384), (0, 100), (4096, 4096)):
        yield "READ %d+%d" % (offset, count), rpc.READ, \
            rpc.read_args(fh, offset, count)
    yield "READDIR", rpc.READDIR, rpc.readdir_args(fh)
    yield "READDIRPLUS", rpc.READDIRPLUS, rpc.readdirplus_args(fh)
    yield "READLINK", rpc.READLINK, rpc.opaque(fh)
    for proc in (rpc.FSSTAT, rpc.FSINFO, rpc.PATHCONF):
        yield nfsraw.PROC_NAMES[proc], proc, rpc.opaque(fh)


def no_atime(attr):
    return attr and attr._replace(atime=(0, 0), used=0)


def facts(r, fsinfo):
    """Returns what an answer gives away, without what may differ from call to
    call. Attributes of the object or directory that was asked may be left
    out."""
    out = {"st": r["st"]}
    for k, v in r.items():
        if k in ("attr", "dir"):
            out[k] = no_atime(v)
        elif k == "entries":
            # . and .. and the order are the server's
            out[k] = sorted((e.name, e.fileid, no_atime(e.attr), e.fh)
                            for e in v if e.name not in (".", ".."))
        elif k == "rest" and not fsinfo:
            continue # FSSTAT: free space changes by itself
        elif k not in ("verf",):
            out[k] = v
    return out


def entries_within(got, want):
    """Entries of a listing may go out without attributes and handle."""
    if len(got) != len(want):
        return False
    return all(g[:2] == w[:2] and g[2] in (None, w[2]) and
               g[3] in (None, w[3]) for g, w in zip(got, want))


def within(got, want, any_attr=False):
    """Is the proxy's answer the server's, or less of optional attributes?"""
    if got["st"] != want["st"]:
        return False
    for k in set(got) | set(want):
        g, w = got.get(k), want.get(k)
        if k == "entries":
            if not entries_within(g, w):
                return False
        elif k in ("attr", "dir"):
            if g is not None and w is not None and g != w and not any_attr:
                return False
        elif g != w:
            return False
    return True


class Test:
    def __init__(self, opt):
        self.opt = opt
        self.wire = nfsraw.Wire()
        self.root = nfsraw.mount(*opt.mount, opt.path)
        self.direct = nfsraw.Link(self.wire, *opt.direct)
        self.proxy = nfsraw.Link(self.wire, *opt.proxy)
        self.maker = self.direct
        self.maker_cred = USERS["root"]
        self.compared = self.refused = 0
        self.failures = []
        self.rng = random.Random(opt.seed)

    def fail(self, text):
        self.failures.append(text)
        if len(self.failures) < 30:
            print("  " + text)

    def compare(self, user, name, what, proc, body, when):
        cred = USERS[user]
        want = facts(self.direct.call(proc, body, cred)[2],
                     proc != rpc.FSSTAT)
        got = facts(self.proxy.call(proc, body, cred)[2],
                    proc != rpc.FSSTAT)
        self.compared += 1
        self.refused += want["st"] == rpc.ACCES
        # Frozen: attributes may be old, where the server changed meanwhile.
        if not within(got, want, "taken" in when and
                      self.opt.mode == "frozen"):
            self.fail("%s, %s: %s of %s as %s:\n    server %s\n    proxy  %s"
                      % (self.opt.mode, when, what, name, user, want, got))

    def matrix(self, tree, users, when):
        todo = [(u, n, *c) for u in users for n, fh, _ in tree.objs
                for c in calls(fh)]
        if when != "in order":
            self.rng.shuffle(todo)
        for user, name, what, proc, body in todo:
            self.compare(user, name, what, proc, body, when)

    def warm(self, tree, user):
        """All that this user may see goes through the proxy."""
        for _, fh, _ in tree.objs:
            for _, proc, body in calls(fh):
                self.proxy.send(proc, body, lambda *a: None, USERS[user])
            self.wire.drain()

    # ---- the cases

    def everybody(self):
        """Root and the owner have just read all; then everybody asks."""
        tree = Tree(self)
        for user in ("root", "owner"):
            self.warm(tree, user)
        self.matrix(tree, [u for u in USERS if u not in ("root", "owner")],
                    "after root and owner")
        self.matrix(tree, list(USERS), "once more, all mixed")

    def together(self):
        """One's flight is not to be joined by somebody without the right."""
        tree = Tree(self)
        for name, fh, _ in tree.objs:
            for what, proc, body in calls(fh):
                got = {}
                order = ["root", "owner", "stranger", "member", "ex-member"]
                self.rng.shuffle(order)
                for user in order:
                    self.proxy.send(proc, body, lambda a, b, r, u=user:
                                    got.__setitem__(u, r), USERS[user])
                self.wire.drain()
                for user, r in got.items():
                    want = self.direct.call(proc, body, USERS[user])[2]
                    fs = proc != rpc.FSSTAT
                    self.compared += 1
                    self.refused += want["st"] == rpc.ACCES
                    if not within(facts(r, fs), facts(want, fs)):
                        self.fail("%s of %s as %s, in flight with others: "
                                  "server %d, proxy %d" % (
                                      what, name, user, want["st"], r["st"]))

    def revoked(self):
        """A right that was used is taken away on the server."""
        for proc in ("READ", "LOOKUP", "READDIR", "READDIRPLUS", "ACCESS"):
            for user in ("stranger", "member", "gid-member"):
                self.revoke(proc, user, renewed=False)
                self.revoke(proc, user, renewed=True)

    def revoke(self, proc, user, renewed):
        """renewed: attributes are asked for all the time, which confirms
        them and must not make the right last longer."""
        tree = Tree(self)
        kind = "f644" if proc in ("READ", "ACCESS") else "d755"
        fh = next(f for n, f, _ in tree.objs if n == kind)
        body = {"READ": rpc.read_args(fh), "LOOKUP": rpc.dirop("secret", fh),
                "READDIR": rpc.readdir_args(fh),
                "READDIRPLUS": rpc.readdirplus_args(fh),
                "ACCESS": rpc.access_args(fh, 0x3f)}[proc]
        number = getattr(rpc, proc)
        cred = USERS[user]
        before = self.proxy.call(number, body, cred)[2]
        if before["st"] != 0:
            raise Failed("%s as %s: %d" % (proc, user, before["st"]))
        self.proxy.call(rpc.ACCESS, rpc.access_args(fh, 0x3f), cred)
        tree.setattr(fh, 0o600 if kind == "f644" else 0o700)
        done = now()
        want = self.direct.call(number, body, cred)[2]
        limit = {"strict": 0, "bounded": self.opt.attr_timeout + 0.002,
                 "frozen": None}[self.opt.mode]
        while True:
            t_sent, t, r = self.proxy.call(number, body, cred)
            if renewed:
                self.proxy.call(rpc.GETATTR, rpc.opaque(fh), USERS["owner"])
                self.proxy.call(rpc.GETATTR, rpc.opaque(fh), cred)
            same = (r["st"], r.get("mask")) == (want["st"], want.get("mask"))
            if limit is None or t_sent - done > limit or same and not limit:
                break
        self.compared += 1
        if limit is None:
            # Frozen: what this user was given before, or what is true.
            old = (before["st"], before.get("mask"))
            same = same or (r["st"], r.get("mask")) == old
        if not same:
            self.fail("%s as %s: %.3f s after the right was taken away: "
                      "server %d %s, proxy %d %s" % (
                          proc, user, t_sent - done, want["st"],
                          want.get("mask"), r["st"], r.get("mask")))
        self.never_given(tree, user)

    def never_given(self, tree, user):
        """To whom the server gave nothing, nothing is given later."""
        other = "nobody"
        for name, fh, _ in tree.objs:
            if name not in ("f644", "d755", "f600", "d700"):
                continue
            for what, proc, body in calls(fh):
                self.compare(other, name, what, proc, body,
                             "after a right of %s was taken" % user)

    def given(self):
        """A denial must not last either, once the server grants."""
        tree = Tree(self)
        fh = next(f for n, f, _ in tree.objs if n == "f600")
        cred = USERS["stranger"]
        for proc, body in ((rpc.READ, rpc.read_args(fh)),
                           (rpc.ACCESS, rpc.access_args(fh, 0x3f))):
            self.proxy.call(proc, body, cred)
        tree.setattr(fh, 0o644)
        done = now()
        body = rpc.read_args(fh)
        limit = {"strict": 0, "bounded": self.opt.attr_timeout + 0.002,
                 "frozen": 0}[self.opt.mode]
        # READ: a denied ACCESS never denies it, in any mode.
        r = self.proxy.call(rpc.READ, body, cred)[2]
        while r["st"] != 0 and now() - done <= limit:
            r = self.proxy.call(rpc.READ, body, cred)[2]
        self.compared += 1
        if r["st"] != 0:
            self.fail("READ is still refused after chmod: %d" % r["st"])

    def own_revoke(self):
        """The owner takes a right away through the proxy: at once, for
        everybody, in every mode."""
        for proc, kind in (("READ", "f644"), ("LOOKUP", "d755"),
                           ("READDIRPLUS", "d755"), ("ACCESS", "f644")):
            tree = Tree(self)
            fh = next(f for n, f, _ in tree.objs if n == kind)
            body = {"READ": rpc.read_args(fh),
                    "LOOKUP": rpc.dirop("secret", fh),
                    "READDIRPLUS": rpc.readdirplus_args(fh),
                    "ACCESS": rpc.access_args(fh, 0x3f)}[proc]
            number = getattr(rpc, proc)
            self.warm(tree, "stranger")
            mode = 0o600 if kind == "f644" else 0o700
            self.proxy.call(rpc.SETATTR, rpc.setattr_args(
                fh, rpc.sattr(mode=mode)), USERS["owner"])
            self.compare("stranger", kind, proc, number, body,
                         "after an own chmod")


CASES = ("everybody", "together", "revoked", "given", "own_revoke")


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("path")
    for name in ("direct", "mount", "proxy"):
        p.add_argument("--" + name, type=endpoint, required=True)
    p.add_argument("--mode", required=True)
    p.add_argument("--case", choices=CASES, required=True)
    p.add_argument("--attr-timeout", type=float, default=0.3)
    p.add_argument("--seed", type=int, default=1)
    # On a squashed export root is nobody special, and cannot make things.
    p.add_argument("--owner-makes", action="store_true")
    opt = p.parse_args()
    t = Test(opt)
    if opt.owner_makes:
        t.maker_cred = rpc.auth_sys(ALICE, TEAM, [TEAM])
    getattr(t, opt.case)()
    print("%d answers compared, %d of them refusals, %d wrong" % (
        t.compared, t.refused, len(t.failures)))
    sys.exit(1 if t.failures else 0)


main()
