#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""histories.py --mode MODE [--by raw|mount --export ADDR:PATH] [options]

A random history of changes, each acknowledged before the next, through a
forefetchd of its own; kill -9 after some of them, and a new start at once.
Then a model of what was acknowledged is compared with what the server has, and
with what it looks like through the proxy: nothing acknowledged may be missing,
and nothing stale may be served.  The server is ADDR, whose PATH is looked at
here, too; without --export one in memory, for which no lab is needed.

The raw client also sends changes and has the daemon killed before the reply:
these may have happened or not, but the proxy must show what is the case.
A failure is replayed for a shorter history that fails, too.
"""
import argparse
import errno
import random
import shutil
import sys
import tempfile
import time

from histories_fs import Daemon, Disk, Memory, Mounted, Raw, change

NAMES = ("a", "b", "c", "d", "e.txt")
DIRS = ("", "d1", "d2")
WEIGHTS = {"create": 5, "append": 6, "write": 3, "truncate": 4, "chmod": 3,
           "mkdir": 2, "rmdir": 1, "unlink": 4, "rename": 6, "link": 3,
           "symlink": 2}


# ---- the model --------------------------------------------------------------

class Obj:
    def __init__(self, kind, mode, what):
        self.kind, self.mode, self.what = kind, mode, what
        self.nlink = 2 if kind == "d" else 1


class Model:
    def __init__(self):
        self.top = Obj("d", 0o755, {})

    def find(self, path):
        at = self.top
        for name in path.split("/") if path else ():
            if at.kind != "d":
                raise OSError(errno.ENOTDIR, path)
            if name not in at.what:
                raise OSError(errno.ENOENT, path)
            at = at.what[name]
        return at

    def where(self, path):
        head, _, name = path.rpartition("/")
        at = self.find(head)
        if at.kind != "d":
            raise OSError(errno.ENOTDIR, path)
        return at, name

    def file(self, path):
        f = self.find(path)
        if f.kind != "f":
            raise OSError(errno.EINVAL, path)
        return f

    def add(self, path, obj):
        d, name = self.where(path)
        if name in d.what:
            raise OSError(errno.EEXIST, path)
        d.what[name] = obj
        d.nlink += obj.kind == "d"

    def take(self, path):
        d, name = self.where(path)
        obj = self.find(path)
        del d.what[name]
        d.nlink -= obj.kind == "d"
        return obj

    def apply(self, what, *args):
        """0, or the errno that there should be."""
        try:
            getattr(self, what)(*args)
            return 0
        except OSError as e:
            return e.errno

    def create(self, path):
        self.add(path, Obj("f", 0o644, b""))

    def append(self, path, data):
        self.file(path).what += data

    def write(self, path, data):
        f = self.file(path)
        f.what = data + f.what[len(data):]

    def truncate(self, path, size):
        f = self.file(path)
        f.what = (f.what + bytes(size))[:size]

    def chmod(self, path, mode):
        obj = self.find(path)
        if obj.kind == "l":
            raise OSError(errno.EINVAL, path)
        obj.mode = mode

    def mkdir(self, path):
        self.add(path, Obj("d", 0o755, {}))

    def symlink(self, path, target):
        self.add(path, Obj("l", 0o777, target.encode()))

    def rmdir(self, path):
        obj = self.find(path)
        if obj.kind != "d":
            raise OSError(errno.ENOTDIR, path)
        if obj.what:
            raise OSError(errno.ENOTEMPTY, path)
        self.take(path)

    def unlink(self, path):
        if self.find(path).kind == "d":
            raise OSError(errno.EISDIR, path)
        self.take(path).nlink -= 1

    def link(self, path, new):
        obj = self.find(path)
        if obj.kind == "d":
            raise OSError(errno.EINVAL, path)
        self.add(new, obj)
        obj.nlink += 1

    def rename(self, path, new):
        obj = self.find(path)
        d, name = self.where(new)
        if obj.kind == "d" or name in d.what and d.what[name].kind == "d":
            raise OSError(errno.EINVAL, path)
        if d.what.get(name) is obj:
            return
        if name in d.what:
            self.unlink(new)
        d.what[name] = self.take(path)

    def tree(self, path="", obj=None, out=None):
        obj, out = obj or self.top, {} if out is None else out
        what, size = obj.what, len(obj.what)
        if obj.kind == "d":
            for name, child in obj.what.items():
                self.tree(path + "/" + name if path else name, child, out)
            what, size = tuple(sorted(obj.what)), 0
        out[path] = (obj.kind, obj.mode, obj.nlink, size, what)
        return out


# The model has no clear word for these errors, so no history tries for them.
UNCLEAR = (errno.EINVAL, errno.EISDIR, errno.ENOTDIR)


def random_change(rng, n):
    what = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    d = rng.choice(DIRS)
    path = (d + "/" if d else "") + rng.choice(NAMES)
    if what in ("mkdir", "rmdir"):
        path = rng.choice(DIRS[1:] + (path,))
    e = rng.choice(DIRS)
    new = (e + "/" if e else "") + rng.choice(NAMES)
    data = (b"%d." % n) * rng.choice((1, 30, 1500))
    return (what, path) + {
        "append": (data,), "write": (data,),
        "truncate": (rng.choice((0, 1, 100, 5000)),),
        "chmod": (rng.choice((0o600, 0o640, 0o755, 0o711)),),
        "rename": (new,), "link": (new,), "symlink": ("to-%d" % n,),
    }.get(what, ())


# ---- a run ------------------------------------------------------------------

class Wrong(Exception):
    """Something is so that must not be."""


def differences(want, is_, whom):
    for path in sorted(set(want) | set(is_)):
        if want.get(path) != is_.get(path):
            yield "%s: /%s\n    should be %s\n    is        %s" % (
                whom, path, brief(want.get(path)), brief(is_.get(path)))


def brief(what):
    text = repr(what)
    return text if len(text) < 150 else text[:100] + "..." + text[-40:]


def same(want, is_, whom):
    for line in differences(want, is_, whom):
        raise Wrong(line)


class Run:
    """One directory, one history in it."""
    dirs = 0

    def __init__(self, opt, side, daemon):
        Run.dirs += 1
        self.name = "h-%s-%s-%d" % (opt.mode, opt.by, Run.dirs)
        self.side, self.daemon = side, daemon
        side.make(self.name)
        self.model, self.events = Model(), []
        self.fs = (Raw if opt.by == "raw" else Mounted)(
            daemon.port, side.export, self.name)
        daemon.start()
        self.fs.mount()
        self.look()

    def close(self):
        self.fs.unmount()
        self.daemon.kill()

    def absent(self):
        have = self.model.tree()
        dirs = [d for d in DIRS if have.get(d, "x")[0] == "d"]
        return [p for d in dirs for n in NAMES
                for p in [d + "/" + n if d else n] if p not in have]

    def look(self):
        """Everything, and each name that could be: the proxy's caches know
        it afterwards."""
        same(self.model.tree(), self.side.tree(self.name), "the server")
        same(self.model.tree(), self.fs.tree(self.absent()), "the proxy")

    def do(self, event):
        """An event of the history: a change, or something that is done to
        the daemon."""
        self.events.append(event)
        getattr(self, "do_" + event[0])(*event[1:])

    def do_change(self, *op):
        want = Model.apply(self.model, *op)
        if want in UNCLEAR:
            self.events.pop()
            return
        is_ = change(self.fs, *op)
        if is_ != want:
            raise Wrong("%s: answered %d, should be %d" % (
                show(op), is_, want))

    def do_unanswered(self, *op):
        """Sent; killed before the reply."""
        was = self.model.tree()
        want = Model.apply(self.model, *op)
        if want:
            self.events.pop()
            return
        self.fs.send(*op)
        self.daemon.kill()
        self.daemon.start()
        self.fs.connect()
        self.settle(was, op)

    def settle(self, was, op):
        """Has it happened? The server has it, or will never have it, when
        nothing moved while another change went all the way."""
        def seen():
            change(self.fs, "mkdir", "probe")
            change(self.fs, "rmdir", "probe")
            return self.side.tree(self.name)
        is_ = seen()
        while True:
            again = seen()
            if again == is_:
                break
            is_ = again
        if is_ == was:
            self.model = self.rebuild(is_)
        elif is_ != self.model.tree():
            same(self.model.tree(), is_, "the server after %s" % show(op))
        self.look()

    def rebuild(self, tree):
        """A model of what is there."""
        model, objs = Model(), {}
        for path in sorted(tree):
            kind, mode, nlink, _, what = tree[path]
            obj = objs.setdefault(
                self.side.identity(self.name, path),
                Obj(kind, mode, {} if kind == "d" else what))
            obj.nlink = nlink
            if path:
                model.where(path)[0].what[path.rpartition("/")[2]] = obj
            else:
                model.top = obj
        return model

    def do_look(self):
        self.look()

    def do_saved(self):
        self.daemon.saved()

    def do_restart(self):
        """TERM: all that is known is written."""
        self.daemon.stop()
        self.daemon.start()
        self.fs.connect()

    def do_kill(self):
        self.daemon.kill()
        self.daemon.start()
        self.fs.connect()
        self.look()
        # From what the new one has cached.
        same(self.model.tree(), self.fs.tree(self.absent()), "the proxy, anew")


def round_of(rng, n, by):
    """Events up to a kill: first what makes the caches old, then changes."""
    def some(k):
        return [("change",) + random_change(rng, n * 100 + i)
                for i in range(rng.randint(1, k))]
    events = some(4) + [("look",)] if rng.random() < 0.5 else []
    dice = rng.random()
    if dice < 0.5:
        events.append(("restart",))
    elif dice < 0.54:
        events.append(("saved",))
    events += some(6)
    if by == "raw" and rng.random() < 0.25:
        events.append(("unanswered",) + random_change(rng, n * 100 + 99))
    return events + [("kill",)]


# ---- a failure --------------------------------------------------------------

def show(event):
    return " ".join(brief(x) if isinstance(x, bytes) else str(x)
                    for x in event)


def replay(opt, side, daemon, events):
    """The history of events that fails, or None."""
    daemon.forget()
    run = Run(opt, side, daemon)
    try:
        for event in events:
            run.do(event)
        return None
    except Wrong as e:
        return run.events, e
    finally:
        run.close()


def shorten(events, again, seconds):
    """`again` replays a history.  The end of it first, then without one event
    after the other."""
    end, best, n = time.monotonic() + seconds, None, 8
    while not best and time.monotonic() < end:
        best = again(events[-n:])
        if n >= len(events):
            break
        n *= 4
    i = len(best[0]) - 1 if best else -1
    while i >= 0 and time.monotonic() < end:
        best = again(best[0][:i] + best[0][i + 1:]) or best
        i = min(i, len(best[0])) - 1
    return best


def report(opt, events, e, again):
    print("%s, %s, seed %d: after %d events:\n  %s" % (
        opt.mode, opt.by, opt.seed, len(events), e))
    best = shorten(events, again, opt.shorten)
    if best:
        print("  shortest history found:")
        events, e = best
    else:
        print("  the last of them; it does not fail again by itself:")
        events = events[-20:]
    for event in events:
        print("    " + show(event))
    print("  then: %s" % e)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--mode", choices=("frozen", "bounded"), required=True)
    p.add_argument("--by", choices=("raw", "mount"), default="raw")
    p.add_argument("--export", metavar="ADDR:PATH")
    p.add_argument("--kills", type=int, default=100)
    p.add_argument("--seed", type=int)
    p.add_argument("--program", default="forefetchd")
    p.add_argument("--work", metavar="DIR", help="for cache and log")
    p.add_argument("--shorten", type=int, default=60, metavar="SECONDS")
    opt = p.parse_args()
    if opt.seed is None:
        opt.seed = random.SystemRandom().randrange(1 << 30)
    return opt


def run_all(opt, side, daemon):
    """Exit status."""
    daemon.forget()
    rng, run, began = random.Random(opt.seed), None, time.monotonic()
    run = Run(opt, side, daemon)
    try:
        for n in range(opt.kills):
            for event in round_of(rng, n, opt.by):
                run.do(event)
    except Wrong as e:
        run.close()
        report(opt, run.events, e,
               lambda events: replay(opt, side, daemon, events))
        return 1
    run.close()
    kinds = [e[0] for e in run.events]
    print("%s, %s, seed %d: %d kills, %d changes, %d sent and not answered, "
          "in %.0f s: nothing lost, nothing stale" % (
              opt.mode, opt.by, opt.seed,
              kinds.count("kill") + kinds.count("unanswered"),
              kinds.count("change"), kinds.count("unanswered"),
              time.monotonic() - began))
    return 0


def main():
    opt = options()
    side = Disk(*opt.export.split(":")) if opt.export else Memory()
    work = opt.work or tempfile.mkdtemp(prefix="ff-histories-")
    daemon = Daemon(side, work + "/" + opt.mode, opt.mode, opt.program)
    status = run_all(opt, side, daemon)
    if not opt.work:
        shutil.rmtree(work)
    sys.exit(status)


if __name__ == "__main__":
    main()
