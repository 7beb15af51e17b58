# SPDX-License-Identifier: GPL-2.0-or-later
"""bench/predictor/nameodds: what it counts of traces and of names."""
import os
import subprocess
import sys
import tempfile
import unittest

NAMEODDS = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "../predictor/nameodds")


def nameodds(trace, names, *options):
    with tempfile.TemporaryDirectory() as place:
        paths = [os.path.join(place, name) for name in ("trace", "names")]
        for path, lines in zip(paths, (trace, names)):
            with open(path, "w") as f:
                f.writelines("\t".join(map(str, line)) + "\n"
                             for line in lines)
        return subprocess.run([sys.executable, "-B", NAMEODDS, *paths,
                               *options], capture_output=True, text=True)


def two_workloads():
    """In ten directories of each, begin.zz and then next.zz are used, of
    four files; the second run uses the others and does not count."""
    trace, names = [], []
    for label in "one", "two":
        for run in 1, 2:
            for n in range(10):
                used = ("begin.zz", "next.zz") if run == 1 else (
                    "never.zz", "other.yy")
                trace += [(run, label, n, 1, "%s/d%d/%s" % (label, n, name),
                           1000, 0) for name in used]
        for n in range(10):
            names += [(label, 1, "%s/d%d/%s" % (label, n, name), 1000, "f")
                      for name in ("begin.zz", "next.zz", "never.zz",
                                   "other.yy")]
    return trace, names


class Odds(unittest.TestCase):
    def rows(self, *options):
        done = nameodds(*two_workloads(), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.strip("{},").split(", ") for line in
                done.stdout.splitlines() if line.startswith("{")]
        return {(r[0], r[3], r[4]): int(r[1]) for r in rows}

    def test_pairs(self):
        rows = self.rows()
        pair = "NAMEODDS_NAME_ENTRY"
        self.assertGreater(rows[pair, '"next.zz"', '"begin.zz"'], 230)
        self.assertLess(rows[pair, '"never.zz"', '"begin.zz"'], 25)

    def test_rows_are_bounded(self):
        self.assertEqual(len(self.rows("--rows", "3")), 3)

    def test_one_workload_says_nothing(self):
        self.assertEqual(self.rows("--leave-out", "two"), {})

    def test_nothing_to_count(self):
        done = nameodds([], [])
        self.assertEqual(done.returncode, 1)
        self.assertIn("no runs in it", done.stderr)


if __name__ == "__main__":
    unittest.main()
