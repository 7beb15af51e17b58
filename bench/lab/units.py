# SPDX-License-Identifier: GPL-2.0-or-later
"""Times and rates as bench/lab/run takes them."""


def seconds(text):
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError("bad time: " + text)


def bytes_a_second(text):
    for unit, factor in (("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9),
                         ("bit", 1)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor / 8
    raise ValueError("bad rate: " + text)
