# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign keeps in its folder how far each part is, and what was found.

state.json is replaced whole, so that a kill leaves the old one or the new one. logs/ has
what was last said, findings/ the outputs and inputs of what failed, corpus/ the fuzzers'.
"""
import contextlib
import copy
import fcntl
import json
import os
import time

FORMAT = "forefetch campaign 1"
# A campaign that was killed at its very beginning may leave these.
OURS = {"lock", "state.json.new"}
PART = {"tried": 0, "seconds": 0.0, "slices": 0, "last": None, "note": "", "memory": {}}
PART_TYPES = {"tried": int, "seconds": (int, float), "slices": int,
              "last": (str, type(None)), "note": str, "memory": dict}
MARK_KEYS = {"commit": str, "at": str}
FINDING_TYPES = {"part": str, "key": str, "said": str, "again": str, "log": str,
                 "data": dict, "times": int, "since": dict, "last": dict,
                 "mended": (dict, type(None))}
# When it was last tried again, and for how many seconds.
RETRIED_TYPES = {"tried": str, "took": int}


class Refused(Exception):
    """No campaign can go on with this folder; the text says what to do."""


def now():
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


def of_types(value, types):
    return isinstance(value, dict) and all(
        isinstance(value.get(key), kind) and not isinstance(value.get(key), bool)
        for key, kind in types.items())


def finding_is_whole(f):
    return of_types(f, FINDING_TYPES) and \
        of_types(f, {key: kind for key, kind in RETRIED_TYPES.items() if key in f}) and all(
        of_types(mark, MARK_KEYS)
        for mark in (f["since"], f["last"], f["mended"]) if mark is not None)


def why_damaged(data):
    """Says why the contents of a state file are wrong, or nothing."""
    if not isinstance(data, dict) or "format" not in data:
        return "it is no state of a campaign"
    if data["format"] != FORMAT:
        return "it is of another version: %r" % (data["format"],)
    if not of_types(data, {"parts": dict, "findings": list, "begun": str}):
        return "it is not whole"
    for name, part in data["parts"].items():
        if not of_types(part, PART_TYPES):
            return "its part %s is not whole" % name
    for n, finding in enumerate(data["findings"]):
        if not finding_is_whole(finding):
            return "its finding %d is not whole" % n
    return ""


class State:
    def __init__(self, folder, must_exist=False):
        self.folder = os.path.abspath(folder)
        self.path = os.path.join(self.folder, "state.json")
        self.lock = None
        self.data = {"format": FORMAT, "begun": now(), "parts": {}, "findings": []}
        if os.path.lexists(self.path):
            self.load()
        elif must_exist:
            raise Refused("there is no campaign in %s; --dir names its folder"
                          % self.folder)
        elif os.path.isdir(self.folder) and set(os.listdir(self.folder)) - OURS:
            raise Refused("%s has files, and no state.json of a campaign; give an empty "
                          "folder, or none yet, with --dir" % self.folder)

    def load(self):
        try:
            with open(self.path, encoding="utf-8") as f:
                data = json.load(f)
            why = why_damaged(data)
        except OSError as e:
            why = e.strerror
        except (ValueError, RecursionError) as e:
            why = "it is no JSON: %s" % e
        if why:
            raise Refused("%s cannot be used: %s; move it away to begin anew, or give "
                          "another folder with --dir" % (self.path, why))
        self.data = data

    def claim(self):
        """Makes the folder, and keeps other campaigns out of it."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            self.lock = open(os.path.join(self.folder, "lock"), "w", encoding="ascii")
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another campaign may have ended since this one looked.
            if os.path.lexists(self.path):
                self.load()
            # A folder that cannot be written to is met now, not after an hour.
            self.save()
            for name in ("logs", "findings", "corpus"):
                os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        except BlockingIOError:
            raise Refused("another campaign runs in %s; wait for it, or give another "
                          "folder with --dir" % self.folder) from None
        except OSError as e:
            raise Refused("%s cannot be written to: %s; give another folder with --dir"
                          % (self.folder, e.strerror)) from None

    def release(self):
        if self.lock:
            self.lock.close()

    def save(self):
        new = self.path + ".new"
        try:
            with open(new, "w", encoding="utf-8") as f:
                json.dump(self.data, f, indent=1)
                f.write("\n")
                f.flush()
                os.fsync(f.fileno())
            os.replace(new, self.path)
        except OSError as e:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise Refused("%s cannot be written: %s; make room or give another folder "
                          "with --dir" % (self.path, e.strerror)) from None

    def part(self, name):
        return self.data["parts"].setdefault(name, copy.deepcopy(PART))

    # ---- findings

    def open_findings(self, part=None):
        return [f for f in self.data["findings"]
                if not f["mended"] and part in (None, f["part"])]

    def has(self, part, found):
        return any((f["part"], f["key"]) == (part, found.key) for f in self.data["findings"])

    def found(self, part, found, commit):
        """Keeps what was found, and says whether it is new: seen for the first time, or
        again after it was mended, and then by what was found now, since what was found
        before passes. Since when it fails stays what it was."""
        mark = {"commit": commit, "at": now()}
        for f in self.data["findings"]:
            if (f["part"], f["key"]) == (part, found.key):
                new = f["mended"] is not None
                if new:
                    f.update(said=found.said, again=found.again, data=found.data)
                    f.pop("took", None)
                f.update(last=mark, mended=None, times=f["times"] + 1)
                return f, new
        f = {"part": part, "key": found.key, "said": found.said, "again": found.again,
             "data": found.data, "log": "", "times": 1, "since": mark, "last": mark,
             "mended": None}
        self.data["findings"].append(f)
        return f, True

    def mend(self, finding, commit):
        finding["mended"] = {"commit": commit, "at": now()}

    def finding_path(self, finding, suffix):
        number = next(n for n, f in enumerate(self.data["findings"]) if f is finding)
        return os.path.join(self.folder, "findings",
                            "%s-%d%s" % (finding["part"], number + 1, suffix))
