# SPDX-License-Identifier: GPL-2.0-or-later
"""The stored corpus keeps to its format, its split and its limits."""
import collections
import glob
import hashlib
import lzma
import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
KINDS = {"read", "lookup", "absent", "getattr", "readdir"}


def tool(*args):
    return subprocess.run([os.path.join(HERE, args[0])] + list(args[1:]),
                          stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout.splitlines()


def rows_of(lines):
    for line in lines:
        if line[0] != "#":
            yield line.split("\t")


class TestCorpus(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(HERE, "SPLIT")) as f:
            self.split = dict(line.split() for line in f if line[0] != "#")

    def test_split_follows_its_rule(self):
        names = sorted(self.split,
                       key=lambda n: hashlib.sha256(n.encode()).hexdigest())
        half = len(names) // 2
        self.assertEqual([self.split[n] for n in names],
                         ["tuning"] * half +
                         ["reporting"] * (len(names) - half))

    def test_every_workload_is_there_and_small(self):
        files = glob.glob(os.path.join(HERE, "data", "*.trace.xz"))
        self.assertEqual({os.path.basename(f)[:-9] for f in files},
                         set(self.split))
        self.assertLess(sum(map(os.path.getsize, files)), 10e6)

    def test_names_are_there_and_small(self):
        files = glob.glob(os.path.join(HERE, "data", "*.names.xz"))
        self.assertEqual({os.path.basename(f)[:-9] for f in files},
                         set(self.split) | {"tools"})
        self.assertLess(sum(map(os.path.getsize, files)), 2e6)

    def test_names_have_what_is_used(self):
        """All of it but some objects of git, whose names are never the same."""
        for name in self.split:
            listed = {row[2] for row in self.names_of(name)}
            used = {row[4] for row in rows_of(tool("cat", name))
                    if row[7:] != ["absent"]}
            self.assertLessEqual(len(used - listed),
                                 len(used) // 100 + 5, name)

    def names_of(self, name):
        rows = list(rows_of(tool("cat", "--names", name)))
        for row in rows:
            if not (len(row) == 5 and
                    row[0] in ("-", name, name + "@second") and
                    int(row[1]) >= 1 and int(row[3]) >= 0 and
                    row[4] in ("f", "d", "l")):
                self.fail(row)
        self.assertEqual(len({row[2] for row in rows}), len(rows), name)
        return rows

    def test_traces_are_well_formed(self):
        for name in self.split:
            path = os.path.join(HERE, "data", name + ".trace.xz")
            with lzma.open(path, "rt", encoding="utf-8") as f:
                self.check(name, f.read().splitlines())

    def check(self, name, lines):
        last, seen, labels = {}, set(), collections.Counter()
        for row in rows_of(lines):
            kind = row[7] if len(row) == 8 else "read"
            run = (int(row[0]), row[1])
            # One look a row: there are hundreds of thousands.
            if not (len(row) in (7, 8) and kind in KINDS and
                    row[1] in (name, name + "@second") and
                    row[4] and row[4][0] != "/" and row[6] in "01" and
                    int(row[5]) >= (kind == "read") and
                    int(row[2]) >= last.get(run, 0) and
                    (run, kind, row[4]) not in seen):
                self.fail(row)
            labels[row[1]] += run not in last
            last[run] = int(row[2])
            seen.add((run, kind, row[4]))
        self.assertGreaterEqual(labels[name], 4, name)
        self.assertEqual(labels[name + "@second"], 1, name)

    def test_order_of_rounds(self):
        halves = [set(), set()]
        for half, name in enumerate(("tuning", "reporting")):
            order = []
            for row in rows_of(tool("cat", name)):
                if not order or order[-1][1] != row[1]:
                    order.append((int(row[0]), row[1]))
                halves[half].add(row[1].split("@")[0])
            self.assertEqual([n for n, _ in order],
                             list(range(1, len(order) + 1)))
            count = len(halves[half])
            self.assertEqual({label for _, label in order[:count]},
                             halves[half])
        self.assertFalse(halves[0] & halves[1])

    def test_prefix_and_kinds(self):
        name = sorted(self.split)[0]
        for row in rows_of(tool("cat", "--prefix", "m2/x", "--kinds",
                                "read,absent", name)):
            self.assertTrue(row[4].startswith("m2/x/"))
            self.assertIn(row[7:], ([], ["absent"]))

    def test_hostile_is_the_same_each_time(self):
        for kind in "find", "random":
            first = tool("hostile", kind, "--files", "300")
            self.assertEqual(first, tool("hostile", kind, "--files", "300"))
            self.assertNotEqual(first, tool("hostile", kind, "--files", "300",
                                            "--seed", "2"))


if __name__ == "__main__":
    unittest.main()
