# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that stand for the long tests, and a campaign that ends after some slices."""
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import campaign
import children
import parts
import state

# Every mode and kind has 50 points; those in the file `bad` beside it fail.
SWEEP = """\
import os, sys
arg = dict(zip(sys.argv[1::2], sys.argv[2::2]))
bad = os.path.join(os.path.dirname(__file__), "bad")
bad = open(bad).read().split() if os.path.exists(bad) else []
points = range(int(arg["--from"]), min(50, int(arg["--to"])) + 1)
wrong = [n for n in points if str(n) in bad]
for n in wrong:
    print("%s, %s %d: a part of read: wrong after 7 lines\\n  LOOKUP said EIO\\n"
          "  fault: io_read (io.c:7)" % (arg["--mode"], arg["--kind"], n))
print("points of failure    %d (0 not reached any more)" % len(points))
sys.exit(bool(wrong))
"""
# Each history has ten operations.
HISTORIES = """\
import json, os, sys
arg = dict(zip(sys.argv[1::2], sys.argv[2::2]))
bad = os.path.join(os.path.dirname(__file__), "bad")
bad = open(bad).read().split() if os.path.exists(bad) else []
seed, n = int(arg["--seed"]), max(1, int(arg["--operations"]) // 10)
wrong = [s for s in range(seed, seed + n) if str(s) in bad]
for s in wrong:
    print("%s, seed %d, after 9 events:\\n  READ /a: of nobody's" % (arg["--mode"], s))
print(json.dumps({"mode": arg["--mode"], "histories": n, "operations": 10 * n,
                  "violations": len(wrong), "faults": 3}))
sys.exit(bool(wrong))
"""


class Few(campaign.Campaign):
    """A signal ends it after so many slices."""
    slices = 0

    def slice(self, part, plan):
        super().slice(part, plan)
        self.slices -= 1
        self.stop.asked = self.slices == 0


class Case(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.folder = os.path.join(self.top, "campaign")
        self.said = []

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def text(self, path):
        with open(path, encoding="utf-8") as f:
            return f.read()

    def program(self, name, text):
        return self.write(name, "#!%s\n%s" % (sys.executable, text), 0o755)

    def env(self, jobs=1, kernel=""):
        return parts.Env(self.top, os.path.join(self.top, "build"),
                         os.path.join(self.top, "check"), kernel, jobs, self.folder)

    def claimed(self):
        """The state of the folder, as a campaign finds it."""
        self.state = state.State(self.folder)
        self.state.claim()
        self.addCleanup(self.state.release)
        return self.state

    def commits(self, some, commit):
        return {part.name: commit for part in some}

    def campaign(self, some, slices, commit="v1", seconds=3600):
        self.said.clear()
        one = Few(self.env(), self.claimed(), some, seconds, self.commits(some, commit),
                  self.said.append, children.Stop())
        one.slices = slices
        one.run()
        self.state.release()

    def again(self, some, commit):
        """Only what failed before."""
        self.said.clear()
        campaign.Campaign(self.env(), self.claimed(), some, 3600,
                          self.commits(some, commit), self.said.append,
                          children.Stop()).try_again()
        self.state.release()

    def has_said(self, text):
        self.assertTrue(any(text in line for line in self.said), self.said)
