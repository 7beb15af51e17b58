# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs cells and keeps what they gave, a file each, so that it can go on.

A record, the JSON of a file:
  id, experiment, kind, link, group    as of the cell
  command    as it was called
  key        of command and forefetchd: where it differs, it is done again
  outcome    ok; failed (status, or no JSON); skipped (with a reason)
  reason, status, started, seconds, versions, seed, log (the end of stderr)
  load       of the machine at its end, averaged over five minutes; one cell by
             itself makes about 1
  result     what the command printed or saved
"""
import glob
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import experiments

BENCH = experiments.BENCH
# A cell that has printed nothing for so many seconds is said to be alive.
SILENCE = 30


class Missing(Exception):
    """Something is missing that cannot be fetched, or must not be."""


def store():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("FOREFETCH_JOBS") or os.path.join(
        base, "forefetch", "jobs")


def image_of(wanted):
    """The image of a set of trees, or None; `jobs` contains `headline`."""
    names = {"jobs": ["image"], "headline": ["image", "headline"],
             "seeds": ["seeds"], "tex": ["tex"], "more": ["more"]}[wanted]
    try:
        files = sorted(os.listdir(store()))
    except OSError:
        return None
    for name in names:
        for f in files:
            if f.startswith(name + "-"):
                return os.path.join(store(), f)
    return None


def find_build(given):
    """Not the newest, as bench/lab/run takes: ./check builds with sanitizers."""
    build = given or os.path.join(os.path.dirname(BENCH), "build")
    if not os.access(os.path.join(build, "proxy/forefetchd"), os.X_OK):
        raise Missing("no proxy/forefetchd in %s: ./quickstart builds it; or "
                      "--build DIR" % build)
    return os.path.realpath(build)


def output_of(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                              stderr=subprocess.DEVNULL,
                              text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def package(name):
    return output_of("dpkg-query", "-W", "-f", "${Version}", name)


def rclone_version():
    """Of the one that bench/jobs/run builds, if it is there."""
    with open(os.path.join(BENCH, "jobs", "rclone", "go.mod")) as f:
        wanted = f.read().split("rclone/rclone ", 1)[1].split()[0]
    return wanted if glob.glob(os.path.join(
        glob.escape(store()), "rclone-*", "rclone")) else "missing"


def guest_kernel():
    """Of the guests: the one in $LAB_KERNEL, or the package's."""
    other = os.environ.get("LAB_KERNEL")
    if not other:
        return package("user-mode-linux") or "missing"
    found = glob.glob(os.path.join(
        glob.escape(other), "root/usr/lib/uml/modules", "*"))
    return os.path.basename(found[0]) if found else "unknown"


def versions(build):
    with open(os.path.join(build, "proxy/forefetchd"), "rb") as f:
        binary = hashlib.sha256(f.read()).hexdigest()[:16]
    with open("/proc/cpuinfo") as f:
        models = [line.split(":", 1)[1].strip() for line in f
                  if line.startswith("model name")]
    found = {"commit": output_of("git", "-C", BENCH, "describe", "--always",
                                 "--dirty"),
             "forefetchd": binary, "python": platform.python_version(),
             "host_kernel": platform.release(), "cpus": os.cpu_count(),
             "cpu": models[0] if models else "unknown"}
    found["guest_kernel"] = guest_kernel()
    for name in ("nfs-ganesha", "nfs-common", "cachefilesd", "sshfs"):
        found[name] = package(name) or "missing"
    found["rclone"] = rclone_version()
    return found


def prepare(cells, args, say):
    """Packages and trees. Raises Missing where they cannot be had."""
    if shutil.which("linux.uml") is None and not args.no_fetch:
        call_or_missing(["install-packages", "lab"], say)
    if any(c.sets for c in cells) and not all(map(shutil.which, (
            "node", "npm", "git"))):
        if args.no_fetch:
            raise Missing("missing: nodejs, npm or git; as root, "
                          "bench/install-packages jobs")
        call_or_missing(["install-packages", "jobs"], say)
    if not args.no_fetch:
        fetch_others(cells, say)
        if any("rclone" in w.split(",") for c in cells for w in c.argv):
            build_rclone(say)
    for wanted in dict.fromkeys(s for c in cells if not why_not(c)
                                for s in c.sets):
        if image_of(wanted):
            continue
        command = ["jobs/prepare", "--set", wanted]
        if args.no_fetch:
            raise Missing("run bench/" + " ".join(command) + " first")
        say("fetching the trees that the jobs read, once: bench/" +
            " ".join(command))
        call_or_missing(command, say)


# Without these packages there is still a report, which says what is missing.
def fetch_others(cells, say):
    if not (package("cachefilesd") and package("python3-matplotlib")):
        fetch_section("evidence", "FS-Cache or plots", say)
    if any("tex" in c.needs for c in cells) and not have_tex():
        fetch_section("tex", "a TeX run", say)
    if any("more" in c.needs for c in cells) and not have_more():
        fetch_section("more", "first runs that nobody tunes on", say)


def fetch_section(section, what, say):
    if os.geteuid() != 0:
        say("without %s; as root: bench/install-packages %s" % (what, section))
    elif subprocess.run([os.path.join(BENCH, "install-packages"),
                         section]).returncode:
        say("packages of the section %s are missing; continuing without" %
            section)


def have_tex():
    return bool(package("texlive-latex-recommended"))


# Whether there is all that bench/jobs/prepare --set more wants beside the
# packages of `jobs`.
def have_more():
    return all(map(shutil.which, ("ctags", "java", "perl")))


# If it cannot be built, the guest's part of the jobs reports why.
def build_rclone(say):
    if subprocess.run([os.path.join(BENCH, "jobs/build-rclone")],
                      stdout=sys.stderr).returncode:
        say("continuing without rclone")


def call_or_missing(command, say):
    path = os.path.join(BENCH, command[0])
    if subprocess.run([path] + command[1:], stdout=sys.stderr).returncode:
        raise Missing("failed: bench/" + " ".join(command))


def program(name):
    """The command that makes the figures of an experiment."""
    return os.path.join(BENCH, name, "run")


def command_of(cell, build, seed, out):
    words = {experiments.OUT: out, experiments.BUILD: build,
             experiments.SEED: str(seed),
             "@IMAGE:seeds@": image_of("seeds") or "none"}
    nfsload = os.path.join(build, "bench/nfsload")
    argv = []
    for i, word in enumerate(cell.argv):
        word = words.get(word, word).replace("@NFSLOAD@", nfsload)
        if i == 0:
            word = program(word)
        elif word.endswith("/guest.sh"):
            word = os.path.join(BENCH, word)
        argv.append(word)
    return argv


def key_of(cell, found, seed):
    text = json.dumps([cell.argv, found["forefetchd"], seed])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def path_of(results, cell_id):
    return os.path.join(results, "cells", cell_id + ".json")


def load_one(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def load(results):
    """All records, in the order in which they were made."""
    where = os.path.join(results, "cells")
    names = sorted(os.listdir(where)) if os.path.isdir(where) else []
    found = [load_one(os.path.join(where, n)) for n in names
             if n.endswith(".json")]
    order = {e.name: i for i, e in enumerate(experiments.ALL)}
    return sorted((r for r in found if r), key=lambda r: (
        order.get(r["experiment"], 99), r["started"]))


def save(path, record):
    """All of it or nothing, whenever it is killed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as f:
        json.dump(record, f, indent=1)
        f.write("\n")
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".new", path)


def good(record):
    """A peer that shows other things than the server is a result: that is in
    the report, and would be so again."""
    peers = experiments.EVERY_PEER.split(",")
    return record["outcome"] == "skipped" or (
        record["outcome"] == "ok" and
        all(r.get("arm") in peers for r in wrong_runs(record)))


def wrong_runs(record):
    result = record.get("result")
    if not isinstance(result, dict):
        return []
    runs = result.get("runs", [])
    return [r for r in runs if isinstance(r, dict) and
            r.get("ok") is False and not r.get("too_fast")]


def wanted(record, key, args):
    """Is the cell of this record, or none, to be done?"""
    if record is None or args.fresh or record["key"] != key:
        return True
    # A thing that was missing then may be available now.
    if record["outcome"] == "skipped":
        return True
    return args.again and not good(record)


def why_not(cell):
    if "script" in cell.needs and not os.access(
            program(cell.argv[0]), os.X_OK):
        return "bench/%s/run is not there" % cell.argv[0]
    if "root" in cell.needs and os.geteuid() != 0:
        return "needs root"
    if "redis" in cell.needs and shutil.which("redis-server") is None:
        return "redis-server is missing (as root: " \
            "bench/install-packages evidence)"
    if "tex" in cell.needs and not have_tex():
        return "TeX is missing (as root: bench/install-packages tex)"
    if "more" in cell.needs and not have_more():
        return "ctags, java or perl is missing (as root: " \
            "bench/install-packages more)"
    return None


def parse_result(cell, out, stdout):
    if cell.save:
        return load_one(out)
    try:
        return json.loads(stdout)
    except ValueError:
        return None


def run_cell(cell, build, args, tell):
    """A record without key and versions. tell(line): what it says."""
    record = {"id": cell.id, "experiment": cell.experiment, "kind": cell.kind,
              "link": cell.link, "group": cell.group, "seed": args.seed,
              "started": time.time(), "seconds": 0, "status": None,
              "result": None, "log": "", "reason": None}
    reason = why_not(cell)
    if reason:
        record.update(outcome="skipped", reason=reason, command=None)
        return record
    with tempfile.TemporaryDirectory(prefix="forefetch-run.",
                                     dir="/var/tmp") as work:
        out = os.path.join(work, "out.json")
        argv = command_of(cell, build, args.seed, out)
        record["command"] = " ".join(
            os.path.relpath(w, os.path.dirname(BENCH)) if w.startswith(BENCH)
            else w for w in argv)
        status, stdout, log = execute(argv, work, tell)
        record["seconds"] = round(time.time() - record["started"], 1)
        record["status"], record["log"] = status, log
        record["load"] = round(os.getloadavg()[1], 1)
        record["result"] = parse_result(cell, out, stdout)
    # A status of 1 with figures means that an aim was missed or a run was wrong.
    if record["result"] is None or status not in (0, 1):
        record.update(outcome="failed", reason="status %s%s" % (
            status, "" if record["result"] else ", no figures"))
    else:
        record["outcome"] = "ok"
    return record


def execute(argv, work, tell):
    """Exit status, output, and the end of what it said on stderr."""
    lines = []
    with open(os.path.join(work, "stdout"), "w+") as stdout:
        try:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=stdout, cwd=work,
                stderr=subprocess.PIPE, text=True, errors="replace",
                start_new_session=True)
        except OSError as e:
            return 127, "", str(e)

        def listen():
            for line in child.stderr:
                lines.append(line)
                tell(line.rstrip())

        listener = threading.Thread(target=listen)
        try:
            listener.start()
            child.wait()
        except BaseException:
            # The signal goes to the whole session, so that the lab ends its guest.
            os.killpg(child.pid, signal.SIGTERM)
            child.wait()
            raise
        finally:
            if listener.ident:
                listener.join()
            child.stderr.close()
        stdout.seek(0)
        return child.returncode, stdout.read(), "".join(lines)[-8000:]


class Progress:
    """Says which cells are done, and how long the rest takes, from what was
    expected."""

    def __init__(self, cells, say, verbose):
        self.cells, self.say, self.verbose = cells, say, verbose
        self.done = self.took = self.expected = 0
        self.last = 0

    def left_minutes(self):
        # The machine's own pace, once it is known.
        pace = self.took / self.expected if self.expected else 1
        rest = sum(c.minutes for c in self.cells[self.done:])
        return pace * rest

    def begin(self, cell):
        self.last = time.time()
        self.say("%d of %d: %s (about %d min left)" % (
            self.done + 1, len(self.cells), cell.id,
            round(self.left_minutes())))

    def tell(self, line):
        now = time.time()
        if self.verbose or now - self.last >= SILENCE:
            self.last = now
            self.say("  " + line[:100])

    def end(self, cell, record):
        self.done += 1
        if record["outcome"] != "skipped":
            self.took += record["seconds"] / 60
            self.expected += cell.minutes
        text = record["outcome"]
        if record["reason"]:
            text += ": " + record["reason"]
        wrong = len(wrong_runs(record))
        if wrong:
            text += ", %d runs wrong" % wrong
        self.say("  %s, %d s" % (text, record["seconds"]))


def run_all(cells, results, args, say):
    """True if all cells are good."""
    build = find_build(args.build)
    prepare(cells, args, say)
    found = versions(build)
    todo, kept = [], []
    for cell in cells:
        cell.key = key_of(cell, found, args.seed)
        record = load_one(path_of(results, cell.id))
        (todo if wanted(record, cell.key, args) else kept).append(cell)
    if kept:
        say("%d of %d cells have results already, in %s" % (
            len(kept), len(cells), results))
    progress = Progress(todo, say, args.verbose)
    for cell in todo:
        progress.begin(cell)
        record = run_cell(cell, build, args, progress.tell)
        record.update(key=cell.key, versions=found)
        save(path_of(results, cell.id), record)
        progress.end(cell, record)
    return all(good(load_one(path_of(results, c.id))) for c in cells)
