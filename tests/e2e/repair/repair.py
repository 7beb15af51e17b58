#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""repair.py KIND N [SEED]: outages of KIND while N lock directories and N
renames are under way.

Two clients: ours through the proxy, the other one directly and over another
link, which stays.  Ours has all its calls in flight when the link swallows the
replies: half of the calls have been done by then, half have not.  While the
server cannot be reached from the proxy, the other client takes and releases
locks, renames its own files over the same targets, and uses names again that
have become free.  Then the proxy repeats its calls.  Wrong are

    a lock with two holders, or one that is taken from its holder
    a call that was answered OK and did not happen
    a rename that was answered OK whose contents are not there, unless the other
    client replaced them later
    what is the other client's and was moved or removed

An error that is not true (EXIST, and it was ours) is not wrong, but must be
counted by the proxy.

KIND: refused  the server is restarted, connections are refused meanwhile
      silent   it is restarted behind a link that is down
      long     the link is down for 150 s, longer than knfsd keeps its replies
"""
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import nfsraw # noqa: E402
import rpc # noqa: E402
from rpc import opaque # noqa: E402

EXPORT = os.environ["LAB_EXPORT"]
CRED = rpc.auth_sys(0, 0)
LINKS, EACH = 17, 120 # connections of ours, calls of each
AWAY = {"refused": 3, "silent": 15, "long": 150} # seconds


def lab(*words):
    subprocess.run(["bash", os.environ["LAB_LIB"], *words], check=True)


def server(*words):
    holder = open("/run/lab/srv/server/holder").read().strip()
    subprocess.run(["nsenter", "-t", holder, "-n", *words], check=True)


def swallow_replies():
    """Acknowledgments of TCP pass, longer packets do not."""
    replies_again()
    server("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "prio", "bands", "2", "priomap", *["1"] * 16)
    server("tc", "qdisc", "add", "dev", "eth0", "parent", "1:2", "netem",
           "loss", "100%")
    server("tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol",
           "ip", "u32", "match", "u16", "0", "0xff80", "at", "2", "flowid",
           "1:1")
    server("tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol",
           "arp", "u32", "match", "u32", "0", "0", "flowid", "1:1")


def replies_again():
    subprocess.run(["bash", os.environ["LAB_LIB"], "lab_link", "-", "-", "-",
                    "-"], check=True)


def poll(condition, what, bound=60):
    end = time.monotonic() + bound
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s" % (bound, what))
        time.sleep(0.05)


def counters():
    out = subprocess.run(
        ["forefetch", "--socket", "/run/forefetch/control.sock", "--json",
         "stats"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)["servers"][0]["counters"]


def content(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return None


class Other:
    """The other client; it waits for each reply, and the server is there."""

    def __init__(self, root):
        self.wire = nfsraw.Wire()
        self.link = nfsraw.Link(self.wire, os.environ["FLOOR"], 2049)
        self.locks = self.look(self.look(root, "repair"), "locks")
        self.files = self.look(self.look(root, "repair"), "files")

    def call(self, proc, body):
        return self.link.call(proc, body, CRED)[2]

    def look(self, fh, name):
        return self.call(rpc.LOOKUP, rpc.lookup_args(name, fh))["fh"]

    def take(self, name):
        return self.call(rpc.MKDIR, rpc.mkdir_args(name, self.locks))["st"]

    def release(self, name):
        return self.call(rpc.RMDIR, rpc.dirop(name, self.locks))["st"]

    def remove(self, name):
        return self.call(rpc.REMOVE, rpc.dirop(name, self.files))["st"]

    def rename(self, old, new):
        return self.call(rpc.RENAME, rpc.dirop(old, self.files) +
                         rpc.dirop(new, self.files))["st"]

    def create(self, name, text):
        r = self.call(rpc.CREATE, rpc.dirop(name, self.files) + rpc.u32(1) +
                      rpc.sattr(0o644))
        if r["st"] == 0:
            self.call(rpc.WRITE, rpc.write_args(text.encode(), r["fh"]))
        return r["st"]


class Ours:
    """Through the proxy; many calls in flight."""

    def __init__(self, root):
        self.wire = nfsraw.Wire(patience=400)
        self.links = [nfsraw.Link(self.wire, "127.0.0.1", 2050, True)
                      for _ in range(LINKS)]
        self.sent = 0
        top = self.call(rpc.LOOKUP, rpc.lookup_args("repair", root))["fh"]
        self.locks, self.files = (self.call(
            rpc.LOOKUP, rpc.lookup_args(n, top))["fh"]
            for n in ("locks", "files"))
        for fh in (self.locks, self.files):
            self.call(rpc.GETATTR, opaque(fh))

    def call(self, proc, body):
        return self.links[0].call(proc, body, CRED)[2]

    def send(self, proc, body, done):
        """`done` gets the status."""
        link = self.links[self.sent % LINKS]
        self.sent += 1
        self.wire.until(lambda: len(link.calls) < EACH)
        link.send(proc, body, lambda a, b, r: done(r["st"]), CRED)

    def look(self, fh, names):
        for name in names:
            self.send(rpc.LOOKUP, rpc.lookup_args(name, fh), lambda st: None)
        self.wire.drain()


class Lock:
    def __init__(self, name, ours, others):
        self.name, self.ours, self.others = name, ours, others
        self.path = EXPORT + "/repair/locks/" + name
        self.status = None

    def send(self, client):
        self.proc = rpc.RMDIR if self.ours else rpc.MKDIR
        body = rpc.dirop(self.name, client.locks)
        if self.proc == rpc.MKDIR:
            body += rpc.sattr(0o755)
        client.send(self.proc, body, self.answered)

    def answered(self, status):
        self.status = status

    def there(self):
        return os.path.isdir(self.path)

    def done(self):
        """The server has done what was sent."""
        return self.there() != self.ours

    def cut(self):
        self.was_done = self.done() and not self.others

    def meanwhile(self, rng, other):
        if not self.others and rng.random() < 0.7:
            self.others = other.take(self.name) == 0
        if self.others and rng.random() < 0.3:
            assert other.release(self.name) == 0
            self.others = False
            if rng.random() < 0.5:
                self.others = other.take(self.name) == 0

    def judge(self):
        there, ok = self.there(), self.status == 0
        if self.others and not there:
            return "wrong", "the other client's lock was removed"
        if self.proc == rpc.MKDIR and ok:
            if self.others:
                return "wrong", "two holders"
            if not there:
                return "wrong", "taken, but not there"
        if self.proc == rpc.RMDIR and ok and there and not self.others:
            return "wrong", "released, but still there"
        if not ok and (self.was_done or self.done() and not self.others):
            return "untrue", None
        if not ok and self.proc == rpc.RMDIR and there and not self.others:
            return "wrong", "NOENT, and there it is"
        return "ok" if ok else "error", None


class Rename:
    def __init__(self, n):
        self.ours, self.target, self.others = (
            "%s%d" % (kind, n) for kind in "pto")
        self.status = self.other_did = self.other_put = None
        self.other_removed = False

    def path(self, name):
        return EXPORT + "/repair/files/" + name

    def content(self, name):
        return content(self.path(name))

    def send(self, client):
        client.send(rpc.RENAME, rpc.dirop(self.ours, client.files) +
                    rpc.dirop(self.target, client.files), self.answered)

    def answered(self, status):
        self.status = status

    def done(self):
        return not os.path.exists(self.path(self.ours))

    def cut(self):
        self.was_done = self.done()

    def meanwhile(self, rng, other):
        if rng.random() < 0.4:
            assert other.rename(self.others, self.target) == 0
            self.other_did = True
        if rng.random() < 0.15:
            # Or what came there, if nobody replaced it: its number is free.
            self.other_removed = other.remove(self.ours) == 0
        if rng.random() < 0.3 and self.content(self.target) == "ours":
            assert other.remove(self.target) == 0
            self.other_did = "removed"
        if rng.random() < 0.5:
            self.other_put = other.create(self.ours, "other's next") == 0

    def judge(self):
        ok, is_ = self.status == 0, self.content(self.target)
        left = {True: "other's", "removed": None, None: "old"}
        if self.was_done:
            want = left[self.other_did] if self.other_did else "ours"
            if self.other_put and self.content(self.ours) != "other's next":
                return "wrong", "it took the other client's next file"
            if is_ != want:
                return "wrong", "%r, should be %r" % (is_, want)
            return ("ok" if ok else "untrue"), None
        # Not done when the server was lost: done after all of the other's.
        had = "other's next" if self.other_put else \
            None if self.other_removed else "ours"
        if ok and is_ != had:
            return "wrong", "OK, but %r, should be %r" % (is_, had)
        if not ok and had and is_ == had or \
                not ok and self.content(self.ours) == "ours":
            return "untrue", None
        if not ok and is_ != left[self.other_did]:
            return "wrong", "status %d, but %r" % (self.status, is_)
        return "ok" if ok else "error", None


def fill(n):
    subprocess.run(["rm", "-rf", EXPORT + "/repair"], check=True)
    for d in ("", "/locks", "/files"):
        os.mkdir(EXPORT + "/repair" + d)
    # Held by us, by the other, or free.
    locks = [Lock("l%d" % i, i % 4 == 1 or i % 8 == 3, i % 4 == 2)
             for i in range(n)]
    for lock in locks:
        if lock.ours or lock.others:
            os.mkdir(lock.path)
    renames = [Rename(i) for i in range(n)]
    for r in renames:
        for name, text in ((r.ours, "ours"), (r.target, "old"),
                           (r.others, "other's")):
            with open(r.path(name), "w") as f:
                f.write(text)
    return locks, renames


def settled(things):
    """How many the server has done when it does no more."""
    was, since = -1, time.monotonic()
    while time.monotonic() - since < 2:
        is_ = sum(t.done() for t in things)
        if is_ != was:
            was, since = is_, time.monotonic()
        time.sleep(0.1)
    return was


def outage(kind, things, ours, other_of, rng):
    """Send all, half of them in vain; seconds that the server was away."""
    early = [t for i, t in enumerate(things) if i % 8 < 4 or i % 8 == 6]
    late = [t for t in things if t not in early]
    swallow_replies()
    for t in early:
        t.send(ours)
    done = settled(early)
    began = time.monotonic()
    if kind == "refused":
        lab("lab_server_stop")
    else:
        lab("lab_link_down", "pull")
    for t in late:
        t.send(ours)
    if kind == "silent":
        lab("lab_server_stop")
    for t in things:
        t.cut()
    if kind == "refused":
        # Those that the proxy has sent anew find nobody.
        before = counters()["upstream_connect_failures"]
        replies_again()
        poll(lambda: counters()["upstream_connect_failures"] > before,
             "the proxy is refused")
        lab("lab_link_down", "pull")
    if kind != "long":
        lab("lab_server_start")
    other = other_of()
    for t in things:
        t.meanwhile(rng, other)
    while time.monotonic() - began < AWAY[kind]:
        time.sleep(0.2) # the length of the outage is what is tested
    replies_again()
    lab("lab_link_up")
    ours.wire.drain()
    print("%s: %d of %d were sent, and %d done, when the server was lost" % (
        kind, len(early), len(things), done))
    return time.monotonic() - began


def report(kind, name, things):
    sums, causes = {}, {}
    for t in things:
        verdict, cause = t.judge()
        sums[verdict] = sums.get(verdict, 0) + 1
        if cause:
            causes.setdefault(cause, []).append(t)
    print("%s, %d %s: %d answered OK, %d true errors, %d untrue errors, "
          "%d WRONG" % (kind, len(things), name, *(
              sums.get(k, 0) for k in ("ok", "error", "untrue", "wrong"))))
    for cause, which in causes.items():
        print("    %d times: %s" % (len(which), cause))
        for t in which[:3]:
            print("        %s" % vars(t))
    return sums.get("wrong", 0), sums.get("untrue", 0)


def main():
    kind, n = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else \
        random.SystemRandom().randrange(1 << 30)
    print("%s: seed %d" % (kind, seed))
    locks, renames = fill(n)
    root = nfsraw.mount("127.0.0.1", 2050, EXPORT, True)
    ours = Ours(root)
    ours.look(ours.locks, [l.name for l in locks])
    ours.look(ours.files, [r.ours for r in renames])
    ours.look(ours.files, [r.target for r in renames])
    before = counters()
    try:
        seconds = outage(kind, locks + renames, ours, lambda: Other(root),
                         random.Random(seed))
    finally:
        replies_again()
        lab("lab_link_up")
    wrong, untrue = (sum(x) for x in zip(
        report(kind, "locks", locks), report(kind, "renames", renames)))
    counts = {k: v - before[k] for k, v in counters().items()
              if v != before[k] and k.startswith(("postcheck", "upstream_re",
                                                  "changes_"))}
    print("%s: %.0f s; the proxy counts %s" % (kind, seconds, ", ".join(
        "%s %d" % kv for kv in sorted(counts.items()))))
    if untrue > counts.get("postcheck_left", 0):
        print("%s: %d untrue errors were not counted" % (
            kind, untrue - counts.get("postcheck_left", 0)))
        wrong += 1
    sys.exit(1 if wrong else 0)


main()
