# SPDX-License-Identifier: GPL-2.0-or-later
"""Divides a time among parts, in slices, and keeps what they find."""
import copy
import os
import shutil
import time

import children
from state import now

# A slice that runs when the time is over may come to its end for so long.
GRACE_S = 30
# Less is not worth a beginning.
LEAST_S = 5
SLICE_MAX_S = 300
# Parts that fail already get no more than this share of the time, so that new is found,
# too.
AGAIN_SHARE = 0.25
# A part that had trouble so often, one time after the other, is left alone.
VAIN_MAX = 3
# Of a part; a daemon that is broken fails everywhere, and more would tell no more.
OPEN_MAX = 50
# Between two lines that say how it goes.
PROGRESS_S = 10


def duration(seconds):
    if seconds < 120:
        return "%d s" % seconds
    if seconds < 7200:
        return "%d min" % round(seconds / 60)
    return "%.1f h" % (seconds / 3600)


class Campaign:
    def __init__(self, env, state, parts, seconds, commits, say, stop):
        """`commits`: of the build that each part runs, by the part's name"""
        self.env, self.state, self.parts, self.commits = env, state, list(parts), commits
        self.say, self.stop = say, stop
        self.seconds, self.until = seconds, time.monotonic() + seconds
        self.told = 0.0
        # Each part comes to its turn several times.
        self.slice_s = min(SLICE_MAX_S, max(10, seconds / (3 * len(self.parts))))
        self.spent = {part.name: 0.0 for part in self.parts}
        self.vain = {part.name: 0 for part in self.parts}

    def left(self):
        return self.until - time.monotonic()

    def goes_on(self):
        return not self.stop.asked and self.left() > LEAST_S

    def run(self):
        self.say("%s in slices of %s: %s" % (
            duration(self.seconds), duration(self.slice_s),
            ", ".join(part.name for part in self.parts)))
        self.try_again()
        while self.goes_on():
            part, plan = self.choose()
            if not part:
                self.say("nothing that can run fits into the %s that are left"
                         % duration(self.left()))
                break
            self.slice(part, plan)
        for part in self.parts:
            self.note_too_short(part)
        self.state.save()

    def choose(self):
        """Of the parts that something fits for, the one that had the smallest share; at
        the beginning, the one that was run longest ago."""
        def share(part):
            return (self.spent[part.name] / part.weight,
                    self.state.part(part.name)["last"] or "")
        for part in sorted(self.parts, key=share):
            plan = part.plan(self.env, self.state.part(part.name)["memory"],
                             min(self.slice_s, self.left()), self.left())
            if plan:
                return part, plan
        return None, None

    def note_too_short(self, part):
        record = self.state.part(part.name)
        if not (self.spent[part.name] or record["note"] or self.stop.asked):
            needs = part.shortest(self.env, record["memory"])
            record["note"] = "skipped: it needs about %s at a time; give more with --for" \
                % duration(max(LEAST_S, needs))

    # ---- one slice

    def execute(self, part, plan, until=None):
        log = os.path.join(self.state.folder, "logs", part.name)
        began = time.monotonic()
        results = children.run(plan.commands, plan.limit, until or self.until + GRACE_S,
                               self.stop, log)
        self.spent[part.name] += time.monotonic() - began
        self.state.part(part.name)["seconds"] += sum(r.seconds for r in results)
        return results

    def slice(self, part, plan):
        record = self.state.part(part.name)
        results = self.execute(part, plan)
        outcome = part.read(plan, results, record["memory"])
        cut = any(r.cut and not r.hung for r in results)
        record["tried"] += outcome.tried
        if not cut:
            record["slices"] += 1
        if not cut and not outcome.trouble and not outcome.skip:
            record["last"] = now()
        self.keep(part, outcome, results)
        self.note(part, record, outcome, cut)
        self.state.save()
        self.progress("%s: %s: %s%s" % (part.name, plan.label, self.summary(part, outcome),
                                        ", cut" if cut else ""))

    def progress(self, text):
        if time.monotonic() >= self.told + PROGRESS_S:
            self.told = time.monotonic()
            self.say("%s; %s left" % (text, duration(max(0, self.left()))))

    def summary(self, part, outcome):
        if outcome.skip:
            return "skipped: " + outcome.skip
        text = "%d %s, %d failed" % (outcome.tried, part.unit, len(outcome.found))
        return text + (", " + outcome.trouble if outcome.trouble else "")

    def note(self, part, record, outcome, cut):
        """Notes for the table why a part had no outcome."""
        if not outcome.skip and not outcome.trouble:
            if not cut:
                record["note"], self.vain[part.name] = "", 0
            return
        record["note"] = "skipped: " + outcome.skip if outcome.skip else \
            "no outcome: " + outcome.trouble
        # A part that is skipped is but one kind of run, which does not come
        # again.
        self.vain[part.name] += bool(outcome.trouble)
        if outcome.trouble and self.vain[part.name] == VAIN_MAX:
            self.parts.remove(part)
            self.say("%s is left alone, after %d runs without an outcome: %s"
                     % (part.name, VAIN_MAX, record["note"]))

    def keep(self, part, outcome, results):
        for found in outcome.found:
            if not self.state.has(part.name, found) and \
                    len(self.state.open_findings(part.name)) >= OPEN_MAX:
                self.progress("%s: more fails than the %d that are kept"
                              % (part.name, OPEN_MAX))
                return
            finding, new = self.state.found(part.name, found, self.commits[part.name])
            if not new:
                self.forget(found, finding)
                continue
            self.say("%s FAILED: %s" % (part.name, found.key if found.said in found.key
                                        else "%s: %s" % (found.key, found.said)))
            finding["log"] = self.state.finding_path(finding, ".log")
            with open(finding["log"], "w", encoding="utf-8") as f:
                for r in results:
                    f.write(r.out + r.err)
            plan = part.shorter(self.env, finding)
            if plan and not self.stop.asked:
                self.shorten(part, plan, finding)

    def forget(self, found, finding):
        """The first input for a failure is enough."""
        path = found.data.get("input")
        if path and path != finding["data"].get("input") and os.path.isfile(path):
            os.remove(path)

    def shorten(self, part, plan, finding):
        self.execute(part, plan)
        short = finding["data"]["input"] + ".short"
        if os.path.exists(short):
            path = self.state.finding_path(finding, ".input")
            shutil.move(short, path)
            finding["again"] = "%s %s" % (finding["again"].split(" ")[0], path)

    # ---- what failed before

    def try_again(self):
        end = min(self.until, time.monotonic() + AGAIN_SHARE * self.seconds)
        # Those first that there was no time for before.
        for finding in sorted(self.state.open_findings(),
                              key=lambda f: max(f["last"]["at"], f.get("tried", ""))):
            part = next((p for p in self.parts if p.name == finding["part"]), None)
            if not part:
                continue
            left = end - time.monotonic()
            if not self.goes_on() or left <= 0:
                self.say("what else failed is not tried again for want of time")
                return
            needs = finding.get("took") or \
                part.needs(finding, self.state.part(part.name)["memory"])
            if needs > left:
                self.say("%s: %s is not tried again: it needs about %s; give more with --for"
                         % (part.name, finding["key"], duration(needs)))
                continue
            self.try_one_again(part, finding, end)
            self.state.save()

    def try_one_again(self, part, finding, end):
        name = "%s: %s" % (part.name, finding["key"])
        # Also where it is cut: the others come first the next time.
        finding["tried"] = now()
        try:
            plan = part.again(self.env, finding)
        except (LookupError, TypeError, ValueError):
            self.say(name + " cannot be tried again: the state does not say how")
            return
        results = self.execute(part, plan, end)
        self.learn(finding, results)
        memory = copy.deepcopy(self.state.part(part.name)["memory"])
        outcome = part.read(plan, results, memory)
        if part.still(finding, outcome):
            finding["last"] = {"commit": self.commits[part.name], "at": now()}
            finding["times"] += 1
            self.say("%s still fails" % name)
        elif any(r.cut for r in results) or outcome.trouble or outcome.skip:
            self.say("%s could not be tried again: %s" % (
                name, outcome.trouble or outcome.skip or "the time was over"))
        else:
            self.state.mend(finding, self.commits[part.name])
            self.say("%s is mended" % name)

    def learn(self, finding, results):
        """How long it takes to try this again."""
        seconds = max(r.seconds for r in results)
        if not any(r.cut for r in results):
            finding["took"] = int(seconds) + 1
        elif not any(r.stopped for r in results):
            finding["took"] = max(finding.get("took", 0), int(1.5 * seconds) + 1)
