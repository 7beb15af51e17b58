# SPDX-License-Identifier: GPL-2.0-or-later
"""Means and their 95% intervals, by Student's t."""
import math
import statistics

# Two-sided 95% points for 1, 2, ... degrees of freedom.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
       2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
       2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


def t95(n):
    """For n values. Beyond the table, its last: a little too wide."""
    return T95[min(n - 1, len(T95)) - 1]


def mean_interval(values):
    mean = statistics.mean(values)
    half = t95(len(values)) * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": mean, "low": mean - half, "high": mean + half}
