# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that powercut.py records: reads, changes, restarts and commands, while
all writes to the disk under cache_dir are logged.  A mark in the log says when the
server has made each change."""
import contextlib
import copy
import os
import pickle
import random
import shutil

import powercut_disk as disk
import powercut_world as world_
from histories import Model, UNCLEAR, random_change
from histories_fs import Memory, Raw, change
from tree import field, place

IMAGE_MIB = {"ext4": 28, "btrfs": 128, "xfs": 64}
LOG_MIB = 1500
FLUSH, PIN, COMPACT = 18, 23, 27  # commands of control.proto
WEIGHTS = {"read": 40, "fodder": 10, "change": 25, "list": 5, "term": 5,
           "kill": 2, "drop": 0.3, "pin": 1.5, "unpin": 1, "reorder": 2}
SYNCS = 0.6 # how many turns are followed by one


class Lost(Exception):
    """Acknowledged, but the server does not have it; or misread."""


class Side(Memory):
    """The server's side of the job."""

    def __init__(self, world):
        self.up = world


class Job:
    def __init__(self, seed, world, daemon, mounted):
        self.rng = random.Random(seed)
        self.world, self.daemon, self.mounted = world, daemon, mounted
        self.raws = {name: Raw(daemon.port, world_.EXPORT, name)
                     for name in ("still", "fodder", "own")}
        self.model, self.side = Model(), Side(world)
        self.n = self.evicted = 0
        self.done = dict.fromkeys(WEIGHTS, 0)

    def begin(self):
        self.daemon.start()
        for raw in self.raws.values():
            raw.mount()

    def turn(self):
        what = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        self.done[what] += 1
        self.n += 1
        getattr(self, "do_" + what)()
        if self.rng.random() < SYNCS:
            disk.sync(self.mounted)

    def check_read(self, path, size, first=0, count=1 << 30):
        top, _, below = path.partition("/")
        got = world_.read(self.raws[top], below, first, count)
        if got != world_.contents(path, size)[first:first + count]:
            raise Lost("the job misread " + path)

    def do_read(self):
        i = self.rng.randrange(world_.STILL)
        size = world_.SIZES[i % len(world_.SIZES)]
        path = world_.still_paths()[i]
        if size and self.rng.random() < 0.3:
            self.check_read(path, size, self.rng.randrange(size), 20000)
        else:
            self.check_read(path, size)

    def do_fodder(self):
        self.check_read("fodder/f%02d" % self.rng.randrange(world_.FODDER),
                        world_.FODDER_SIZE)

    def do_change(self):
        for _ in range(self.rng.choice((1, 1, 3))):
            self.change(self.rng.random() < 0.1)

    def change(self, vain):
        """One that succeeds, or one that is refused; as the model says."""
        op, model, want = self.draw(vain)
        before = self.world.changes
        is_ = change(self.raws["own"], *op)
        if is_ != want or (self.world.changes > before) != (is_ == 0):
            raise Lost("%s: answered %d, should be %d; %d done" % (
                op, is_, want, self.world.changes - before))
        self.model = model

    def draw(self, vain):
        while True:
            op, model = random_change(self.rng, self.n), \
                copy.deepcopy(self.model)
            want = Model.apply(model, *op)
            if want not in UNCLEAR and (want != 0) == vain and \
                    all(what[3] < 60000 for what in model.tree().values()):
                return op, model, want

    def do_list(self):
        """The server has all that was acknowledged, and the proxy says so."""
        want = self.model.tree()
        if self.side.tree("own") != want:
            raise Lost("the server lacks an acknowledged change")
        if self.raws["own"].tree(["none"]) != want:
            raise Lost("the job misread own/")

    def restart(self, end):
        self.evicted += self.daemon.counter("data_evicted")
        end()
        self.daemon.start()
        for raw in self.raws.values():
            raw.connect()

    def do_term(self):
        """The next one trusts what this one leaves, if that reached the disk."""
        self.restart(self.end_well)
        # While it is not on the disk yet that this is so once only.
        self.change(False)

    def end_well(self):
        self.daemon.stop()
        if self.rng.random() < 0.7:
            disk.sync(self.mounted)

    def do_kill(self):
        self.restart(self.daemon.kill)

    def do_drop(self):
        self.daemon.ask(FLUSH)

    def do_reorder(self):
        self.daemon.ask(COMPACT, field(2, 1))

    def where(self):
        path = self.rng.choice((b"still/d", b"still/f04", b"own"))
        return field(2, place(self.daemon, path))

    def do_pin(self):
        self.daemon.ask(PIN, field(1, 1) + self.where())

    def do_unpin(self):
        self.daemon.ask(PIN, field(1, 2) + self.where(), 25)


def dirty_soon():
    """Have the kernel write as early as it can, so that there are many moments."""
    for name in ("dirty_writeback_centisecs", "dirty_expire_centisecs"):
        with open("/proc/sys/vm/" + name, "w") as f:
            f.write("20")


class Recording:
    """A directory with `base`, the disk before the job, `log`, and `changes`."""

    def __init__(self, where):
        self.base, self.log = where + "/base", where + "/log"
        self.changes = where + "/changes"

    def save(self, *what):
        with open(self.changes, "wb") as f:
            pickle.dump(what, f)

    def load(self):
        with open(self.changes, "rb") as f:
            return pickle.load(f)


def record(opt, seed, work):
    """Run the job; returns the recording, and a word of what was done."""
    recording = Recording(work)
    image, top = work + "/image", work + "/mounted"
    # All others fail for whatever one run leaves.
    with contextlib.ExitStack() as at_end:
        at_end.callback(os.remove, image)
        disk.make_image(image, opt.fs, IMAGE_MIB[opt.fs])
        shutil.copyfile(image, recording.base)
        dirty_soon()
        world = world_.World()
        at_end.callback(world.close)
        world.build()
        begun = world.states(True)
        logged = disk.Logged(image, recording.log, LOG_MIB)
        at_end.callback(logged.close)
        world.on_change = lambda number: logged.mark("change=%d" % number)
        disk.mount(logged.device, top, opt.fs, opt.options)
        at_end.callback(disk.umount, top)
        daemon = world_.Daemon(work, top + "/cache", opt.mode, opt.program)
        at_end.callback(daemon.kill)
        job = Job(seed, world, daemon, top)
        job.begin()
        for _ in range(opt.turns):
            job.turn()
    recording.save(opt.fs, opt.options, opt.mode, seed, begun, world.deltas)
    return recording, "%d changes; %s; %d extents evicted" % (
        world.changes, ", ".join("%d %s" % (n, what)
                                 for what, n in job.done.items()),
        job.evicted)
