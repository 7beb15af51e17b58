#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the order in which arms take turns."""
import os
import subprocess
import unittest

ORDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "order.sh")
ARMS = ["direct", "floor", "alone", "farm"]


def shuffled(seed, n, words):
    said = subprocess.run(
        ["bash", "-c", '. "$0" && shuffled "$@"', ORDER, str(seed), str(n),
         *words], check=True, stdout=subprocess.PIPE)
    return said.stdout.decode().split()


class Order(unittest.TestCase):
    def test_all_words(self):
        for n in range(1, 9):
            self.assertEqual(sorted(shuffled(1, n, ARMS)), sorted(ARMS))

    def test_again_the_same(self):
        self.assertEqual(shuffled(3, 5, ARMS), shuffled(3, 5, ARMS))

    def test_second_round_turned_round(self):
        for n in range(1, 9, 2):
            self.assertEqual(shuffled(1, n, ARMS),
                             shuffled(1, n + 1, ARMS)[::-1])

    def test_rounds_and_seeds_differ(self):
        rounds = {tuple(shuffled(1, n, ARMS)) for n in range(1, 20)}
        seeds = {tuple(shuffled(seed, 1, ARMS)) for seed in range(1, 20)}
        self.assertGreater(len(rounds), 6)
        self.assertGreater(len(seeds), 6)

    def test_two_arms_both_ways(self):
        first = {shuffled(seed, 1, ARMS[:2])[0] for seed in range(1, 20)}
        self.assertEqual(first, set(ARMS[:2]))


if __name__ == "__main__":
    unittest.main()
