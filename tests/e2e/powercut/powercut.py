#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""powercut.py run [options]: run jobs, log every write under cache_dir, and cut
the power at the moments of these logs
powercut.py one DIR N: once more, at one moment of a recording that was kept

Each moment of the log is a prefix of it, N; or N+B, the first B blocks of entry N
after what was before it; or N~K, what a disk may leave that has kept some writes
in its memory since the last FLUSH: the K-th random choice of these, when entry N is
that FLUSH's.  The file system is mounted as it was then, and a daemon starts there,
before a server as it was then.  Whatever it says is compared with that server.
"""
import argparse
import collections
import glob
import os
import random
import shutil
import sys
import time
import traceback

import powercut_disk as disk
import powercut_job as job
import powercut_world as world_

# A disk writes so much whole, or not at all; the file systems rely on it.
BLOCK = 4096
FLIP = bytes(i ^ 1 for i in range(256))
SAID = ("set aside", "begun anew", "switched off", "refused")
# At the first moments of a log, little is in the cache. About the thirtieth had enough
# for the self-test, so three times as many must have one that does.
FEW = 100
# From the cache: where it is more, a moment has enough for the self-test.
RIPE_BYTES = 100000


class Counts(collections.Counter):
    def line(self):
        served = max(1, self["served_bytes"])
        return "%d prefixes tried (%d after a whole entry, %d after a change of " \
            "the server's alone, %d within an entry, %d reordered), and %d more " \
            "equal to one before; %d times it did not mount, %d starts failed, " \
            "%d crashes, %d prefixes with something misread; %d without its " \
            "cache; %d extents found, %d of them bad and dropped; %d of %d bytes " \
            "from the cache (%d %%), in %d prefixes (%d %%) some; in %d no name " \
            "was asked for" % (
                self["tried"], self["whole"], self["changed"], self["torn"],
                self["reordered"], self["equal"], self["unmounted"],
                self["unstarted"], self["crashed"], self["wrong"],
                self["uncached"], self["loaded"], self["bad"],
                self["cached_bytes"], self["served_bytes"],
                100 * self["cached_bytes"] // served, self["useful"],
                100 * self["useful"] // max(1, self["tried"]), self["trusted"])


class Check:
    def __init__(self, opt, recording, counts):
        (self.fs, options, self.mode, self.seed, begun,
         self.deltas) = recording.load()
        self.name = "%s, %s, seed %d" % (
            " ".join((self.fs, options)).strip(), self.mode, self.seed)
        self.opt, self.recording = opt, recording
        self.counts, self.failed = counts, []
        with open(recording.base, "rb") as f:
            self.disk = bytearray(f.read())
        # The first is on the disk for good, the second may not be.
        self.firm, self.cached = bytearray(self.disk), disk.Cached()
        self.world = world_.World()
        self.world.load(begun)
        top = opt.work + "/mounted"
        self.view = disk.View(opt.work + "/view", len(self.disk), top, self.fs,
                              options)
        self.daemon = world_.Daemon(opt.work, top + "/cache", self.mode,
                                    opt.program)
        self.seen, self.ripe = set(), False
        self.end_at = time.monotonic() + opt.seconds

    def close(self):
        self.view.close()
        self.world.close()

    # ---- one moment

    def moment(self, name, kind, image, writes=()):
        if self.opt.one and self.opt.one != name:
            return
        self.view.put(image, writes)
        try:
            self.view.mount()
        except OSError as e:
            self.counts["unmounted"] += 1
            self.fail(name, "the file system does not mount: %s" % e)
            return
        try:
            key = disk.files_sum(self.daemon.cache), self.world.changes
            if key in self.seen:
                self.counts["equal"] += 1
                return
            self.seen.add(key)
            self.counts["tried"] += 1
            self.counts[kind] += 1
            self.start_and_look(name)
        finally:
            self.view.umount()
        if self.ripe and not self.counts["self-tests"]:
            self.counts["self-tests"] += self.self_test(name, image, writes)
        self.progress()

    def start_and_look(self, name):
        self.daemon.lose_memory()
        try:
            self.daemon.start()
        except (AssertionError, OSError) as e:
            self.counts["unstarted"] += 1
            # One that only does not answer would hold the disk.
            self.daemon.kill()
            return self.fail(name, "the daemon does not start: %s" % e)
        try:
            judge = self.look()
            self.count(judge)
            self.end()
        except Exception as e: # whatever the daemon's end makes of it
            self.counts["crashed"] += 1
            self.daemon.kill()
            return self.fail(name, "%s: %s" % (type(e).__name__, e))
        if judge.wrong:
            self.counts["wrong"] += 1
            self.fail(name, "\n  ".join(judge.wrong[:8]))

    def look(self):
        """Reads all, which has to be what the server has."""
        judge = world_.Judge(self.world, self.daemon.port)
        judge.look()
        judge.bad = self.daemon.counter("data_bad")
        if self.daemon.process.poll() is not None:
            raise AssertionError("the daemon ended")
        return judge

    def count(self, judge):
        self.ripe = judge.cached > RIPE_BYTES
        self.counts.update(
            served_bytes=judge.served, cached_bytes=judge.cached,
            useful=int(judge.cached > 0), trusted=int(judge.asked == 0),
            bad=judge.bad, loaded=self.daemon.counter("data_loaded"),
            uncached=1 - self.daemon.counter("data_on"))

    def end(self):
        """Every tenth in good order, which it must be able to."""
        if self.counts["tried"] % 10 == 0:
            self.daemon.stop()
        else:
            self.daemon.kill()
        text = self.daemon.text()
        for word in SAID:
            self.counts["said " + word] += word in text
        if "Assertion" in text:
            raise AssertionError(text[-500:])

    def fail(self, name, cause):
        self.failed.append(name)
        print("FAIL prefix %s of %s:\n  %s\n  log: %s" % (
            name, self.name, cause,
            self.daemon.text()[-600:].replace("\n", "\n       ")), flush=True)

    def progress(self):
        now = time.monotonic()
        if now > self.opt.told + 60:
            self.opt.told = now
            print("# %s: %s" % (self.name, self.counts.line()),
                  file=sys.stderr, flush=True)

    # ---- the log

    def enough(self):
        return self.counts["tried"] >= self.opt.prefixes or \
            len(self.failed) >= 5 or time.monotonic() > self.end_at

    def all(self):
        skipped = int(self.opt.skip * disk.count(self.recording.log))
        for e in disk.entries(self.recording.log):
            rng = random.Random("%d %d" % (self.seed, e.number))
            by_chance = rng.random() < self.opt.share
            # Few others can show anything where there is a journal.
            wanted = self.opt.one or e.number >= skipped and (
                by_chance or e.flags & (disk.FLUSH | disk.FUA | disk.MARK))
            if e.flags & disk.MARK:
                self.mark(e, wanted)
            else:
                self.write(e, rng, wanted)
            if self.enough():
                break

    def mark(self, e, wanted):
        word, _, number = e.data.decode().partition("=")
        if word != "change":
            return
        self.world.play(self.deltas[int(number) - 1])
        self.world.changes = int(number)
        if wanted:
            self.moment("%d" % e.number, "changed", self.disk)

    def write(self, e, rng, wanted):
        if e.flags & disk.FLUSH:
            self.flush(e, rng, wanted)
        at, blocks = e.sector * disk.SECTOR, len(e.data) // BLOCK
        for _ in range(self.opt.torn if wanted and blocks > 1 else 0):
            part = rng.randrange(1, blocks)
            self.moment("%d+%d" % (e.number, part), "torn", self.disk,
                        [(at, e.data[:part * BLOCK])])
        if not e.data:
            return
        self.disk[at:at + len(e.data)] = e.data
        if e.flags & disk.FUA:
            self.firm[at:at + len(e.data)] = e.data
        self.cached.add(at, e.data, bool(e.flags & disk.FUA))
        if wanted:
            self.moment("%d" % e.number, "whole", self.disk)

    def flush(self, e, rng, wanted):
        """Of what came since the last FLUSH, a part; and then all."""
        for k in range(self.opt.reorder if wanted and self.cached.count > 1 else 0):
            self.moment("%d~%d" % (e.number, k), "reordered", self.firm,
                        self.cached.some(rng))
        for at, data in self.cached.all():
            self.firm[at:at + len(data)] = data
        self.cached = disk.Cached()

    # ---- can it fail at all?

    def self_test(self, name, image, writes):
        """This moment once more, with bytes at the server that are others
        without its times saying so; then with such bytes in the cache. False
        where that told nothing: how much is taken from the cache differs from
        one time to the next."""
        told = True
        for spoil in (self.changed_server, self.changed_cache):
            try:
                good = self.spoilt(spoil, image, writes)
                why = spoil.__doc__ if good is False else ""
                told = told and good is not None
            except Exception as e: # as for any moment
                why = "%s: %s" % (type(e).__name__, e)
            if why:
                self.fail(name, "the self-test: " + why)
        return told

    def spoilt(self, spoil, image, writes):
        self.view.put(image, writes)
        self.view.mount()
        try:
            return spoil()
        finally:
            self.view.umount()

    def again(self):
        self.daemon.lose_memory()
        try:
            self.daemon.start()
            return self.look()
        finally:
            self.daemon.kill()

    def flip(self):
        for node in self.world.regular():
            node.data = node.data.translate(FLIP)

    def changed_server(self):
        """The judge must see that the cache has not what the server has. None
        where hardly anything was read from the cache."""
        self.flip()
        try:
            judge = self.again()
        finally:
            self.flip()
        seen = any("READ " in l for l in judge.wrong)
        return None if not seen and judge.cached <= RIPE_BYTES else seen

    def changed_cache(self):
        """The daemon must see that its cache is damaged."""
        for where, _, files in os.walk(self.daemon.cache):
            for name in files:
                if name.endswith(".seg"):
                    with open(where + "/" + name, "r+b") as f:
                        for at in range(50, os.path.getsize(f.name), 4096):
                            f.seek(at)
                            byte = f.read(1)
                            f.seek(at)
                            f.write(bytes([byte[0] ^ 1]))
        judge = self.again()
        return judge.bad > 0 and not judge.wrong


def check(opt, recording, counts):
    """The moments of it where something was wrong."""
    c, began = Check(opt, recording, counts), time.monotonic()
    try:
        c.all()
    finally:
        c.close()
    opt.seconds -= time.monotonic() - began
    return c.failed


def keep(recording, opt, seed):
    """Where a failure can be looked at again. It takes the place of an earlier one of the
    same kind, as one takes up to 1.5 GiB and nobody else removes it."""
    kind = "powercut-%s-" % "-".join(s for s in (opt.fs, opt.options, opt.mode) if s)
    for old in glob.glob(os.path.join(opt.keep, glob.escape(kind) + "[0-9]*")):
        shutil.rmtree(old)
    where = os.path.join(opt.keep, "%s%d" % (kind, seed))
    os.makedirs(where)
    for path in (recording.base, recording.log, recording.changes):
        disk.run("cp", "--sparse=always", path, where)
    return where


def run(opt):
    """Exit status."""
    counts, seed, began = Counts(), opt.seed, time.monotonic()
    failed = []
    while not failed and counts["tried"] < opt.prefixes and opt.seconds > 0:
        try:
            recording, done = job.record(opt, seed, opt.work)
        except Exception as e: # of the job or of its daemon
            traceback.print_exc()
            print("FAIL seed %d, before any power cut: %s: %s" % (
                seed, type(e).__name__, e))
            return 1
        print("# seed %d: %s" % (seed, done), file=sys.stderr, flush=True)
        failed = check(opt, recording, counts)
        if failed:
            where = keep(recording, opt, seed)
            for name in failed:
                print("  again: tests/e2e/run powercut -- --one %s %s" % (
                    where, name))
        seed += 1
    print("%s, seeds %d to %d, %d s: %s; said: %s" % (
        " ".join((opt.fs, opt.options, opt.mode)), opt.seed, seed - 1,
        time.monotonic() - began, counts.line(),
        ", ".join("%s %d" % (w, counts["said " + w]) for w in SAID)))
    return int(bool(failed) or not self_tested(counts, opt))


def self_tested(counts, opt):
    """Says where there was no self-test; false where there should have been one."""
    if counts["self-tests"]:
        return True
    if counts["tried"] < FEW:
        print("  self-test: skipped, none of so few moments had enough in the cache; "
              "where %d are tried, one has to" % FEW)
        return True
    print("  self-test: no moment had enough in the cache")
    return False


def options():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=("run", "one"))
    p.add_argument("recording", nargs="?")
    p.add_argument("one", nargs="?")
    p.add_argument("--program", default="forefetchd")
    p.add_argument("--work", default="/tmp/powercut")
    p.add_argument("--keep", default="/var/tmp", metavar="DIR",
                   help="where the recording of a failure is kept")
    p.add_argument("--fs", choices=tuple(job.IMAGE_MIB), default="ext4")
    p.add_argument("--options", default="", help="of its mount")
    p.add_argument("--mode", choices=("frozen", "bounded"), default="frozen")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--turns", type=int, default=300, help="of each job")
    p.add_argument("--prefixes", type=int, default=1 << 30, metavar="N",
                   help="no more than these")
    p.add_argument("--seconds", type=float, default=1e9,
                   help="for the prefixes, without the jobs")
    p.add_argument("--skip", type=float, default=0, metavar="0..1",
                   help="how much of the beginning of each log not to try")
    p.add_argument("--share", type=float, default=0.1, metavar="0..1",
                   help="of the writes between two commits, at random")
    p.add_argument("--torn", type=int, default=1, metavar="N",
                   help="moments within each entry")
    p.add_argument("--reorder", type=int, default=2, metavar="N",
                   help="random choices of what was written before each FLUSH")
    opt = p.parse_args()
    opt.told = time.monotonic()
    return opt


def main():
    opt = options()
    os.makedirs(opt.work, exist_ok=True)
    if opt.what == "run":
        sys.exit(run(opt))
    counts, opt.prefixes = Counts(), 1
    failed = check(opt, job.Recording(opt.recording), counts)
    print(counts.line())
    sys.exit(bool(failed) or not counts["tried"])


if __name__ == "__main__":
    main()
