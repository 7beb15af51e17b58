# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what powercut.py does on this side of a disk, without root and without a lab."""
import os
import random
import tempfile
import types
import unittest

import powercut
import powercut_disk as disk


class Cached(unittest.TestCase):
    def written(self):
        cached = disk.Cached()
        for write in ((0, b"old", False), (0, b"new", True), (9, b"x", False)):
            cached.add(*write)
        return cached

    def test_nothing_comes_over_what_is_firm(self):
        cached = self.written()
        self.assertEqual(cached.count, 2)
        for seed in range(20):
            image = bytearray(10)
            some = cached.some(random.Random(seed))
            for offset, data in some:
                image[offset:offset + len(data)] = data
            self.assertEqual(bytes(image[:3]), b"new")
            self.assertIn(len(some), (2, 3))

    def test_all_are_there_after_a_flush(self):
        self.assertEqual(self.written().all(), [(0, b"old"), (0, b"new"), (9, b"x")])


class Keep(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        self.recording = types.SimpleNamespace()
        for name in ("base", "log", "changes"):
            path = os.path.join(self.top.name, name)
            setattr(self.recording, name, path)
            with open(path, "w", encoding="ascii") as f:
                f.write(name)
        self.kept = os.path.join(self.top.name, "kept")
        os.mkdir(self.kept)

    def keep(self, options, seed, mode="frozen"):
        opt = types.SimpleNamespace(fs="ext4", options=options, mode=mode, keep=self.kept)
        return powercut.keep(self.recording, opt, seed)

    def test_one_of_each_kind(self):
        where = self.keep("", 7)
        self.assertEqual(sorted(os.listdir(where)), ["base", "changes", "log"])
        for options, seed, mode in (("data=writeback", 7, "frozen"), ("", 7, "bounded"),
                                    ("", 8, "frozen"), ("data=writeback", 7, "frozen")):
            self.keep(options, seed, mode)
        self.assertEqual(sorted(os.listdir(self.kept)), [
            "powercut-ext4-bounded-7", "powercut-ext4-data=writeback-frozen-7",
            "powercut-ext4-frozen-8"])


if __name__ == "__main__":
    unittest.main()
