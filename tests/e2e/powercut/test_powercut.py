# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what powercut.py does on this side of a disk, without root and without a lab."""
import os
import random
import tempfile
import types
import unittest
from unittest import mock

import powercut
import powercut_disk as disk
import powercut_job as job


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


class Ends(unittest.TestCase):
    """An exception leaves nothing behind that the next run would fail for."""

    def test_of_a_job(self):
        order = mock.Mock()
        opt = types.SimpleNamespace(fs="ext4", options="", mode="frozen", program="x",
                                    turns=3)
        with tempfile.TemporaryDirectory() as work, \
                mock.patch.multiple(job.disk, Logged=order.logged, mount=order.mount,
                                    umount=order.umount,
                                    make_image=lambda path, *_: open(path, "wb").close()), \
                mock.patch.multiple(job.world_, World=order.world, Daemon=order.daemon), \
                mock.patch.multiple(job, Job=order.job, dirty_soon=order.dirty):
            order.job().turn.side_effect = job.Lost("it misread")
            order.reset_mock()
            self.assertRaisesRegex(job.Lost, "it misread", job.record, opt, 1, work)
            self.assertEqual(os.listdir(work), ["base"])
        self.assertEqual(order.mock_calls[-5:], [
            mock.call.job().turn(), mock.call.daemon().kill(),
            mock.call.umount(work + "/mounted"), mock.call.logged().close(),
            mock.call.world().close()])

    def test_of_the_device(self):
        done = []

        def run(*args):
            done.append(" ".join(args))
            if "create" in args:
                raise OSError("no memory")
            return "/dev/" + os.path.basename(args[-1])
        with tempfile.TemporaryDirectory() as work, mock.patch.object(disk, "run", run):
            with open(work + "/image", "wb"):
                self.assertRaises(OSError, disk.Logged, work + "/image", work + "/log", 1)
        self.assertEqual(done[-2:], ["losetup -d /dev/log", "losetup -d /dev/image"])

    def test_of_the_self_test(self):
        check = object.__new__(powercut.Check)
        node = types.SimpleNamespace(data=b"abc")
        check.failed, check.name, check.view, check.daemon = [], "x", mock.Mock(), mock.Mock()
        check.daemon.text.return_value, check.daemon.cache = "", "/nowhere"
        check.world = types.SimpleNamespace(regular=lambda: [node])
        check.look = mock.Mock(side_effect=ValueError("no such answer"))
        with mock.patch("builtins.print") as said:
            check.self_test("7", b"", ())
        self.assertEqual((check.failed, node.data), (["7", "7"], b"abc"))
        self.assertIn("the self-test: ValueError: no such answer", said.call_args[0][0])
        self.assertEqual(check.daemon.kill.call_count, 2)
        self.assertEqual(check.view.umount.call_count, 2)

    def test_of_a_self_test_without_a_cache(self):
        check = object.__new__(powercut.Check)
        check.world, check.daemon = mock.Mock(), mock.Mock()
        check.world.regular.return_value = []
        for cached, wrong, told in ((1, [], None), (1, ["READ /a: differs"], True),
                                    (200000, [], False),
                                    (200000, ["READ /a: differs"], True)):
            check.look = lambda: types.SimpleNamespace(cached=cached, wrong=wrong)
            self.assertIs(check.changed_server(), told)


if __name__ == "__main__":
    unittest.main()
