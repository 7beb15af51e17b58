# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots of the report, as SVG text; None where there is no matplotlib."""
import io
import re

import figures

COLOURS = {"floor": "#7a8794", "direct": "#b5523b", "nfs4": "#cf8a6b",
           "fscache": "#c9a227", "sshfs": "#9a6fb0", "ganesha": "#7d6a55",
           "rclone": "#c2708f", "off": "#9db7c9",
           "first-block": "#62a3c4", "first": "#62a3c4", "bounded": "#1f6f9f",
           "frozen": "#12456b", "strict": "#4aa68a"}
# One that is read on white and on black.
INK = "#808890"


def pyplot():
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plot
    plot.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "forefetch",
        "font.family": "sans-serif", "font.size": 10, "text.color": INK,
        "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK,
        "ytick.color": INK, "axes.spines.top": False,
        "axes.spines.right": False, "legend.frameon": False})
    return plot


def svg(plot, figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight",
                   metadata={"Date": None})
    plot.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def bars(lines, title):
    """Elapsed time of each job, an arm each, on a logarithmic scale.

    lines: [(job, {arm: interval})]
    """
    plot = pyplot()
    arms = [a for a in figures.ORDER
            if any(a in values for _, values in lines)]
    if not plot or not lines or not arms:
        return None
    thick = 0.8 / len(arms)
    figure, axis = plot.subplots(figsize=(
        7.5, 0.9 + len(lines) * (0.25 + 0.17 * len(arms))))
    for i, arm in enumerate(arms):
        at, width, less, more, ends = [], [], [], [], []
        for j, (_, values) in enumerate(lines):
            if values.get(arm):
                v = values[arm]
                at.append(j + (i - (len(arms) - 1) / 2) * thick)
                width.append(v["median"])
                less.append(v["median"] - v["low"])
                more.append(v["high"] - v["median"])
                ends.append(v["high"])
        axis.barh(at, width, thick * 0.9, color=COLOURS.get(arm, INK),
                  label=figures.name(arm), xerr=(less, more),
                  error_kw={"ecolor": INK, "elinewidth": 1})
        for y, x, end in zip(at, width, ends):
            axis.text(end * 1.06, y, " %.3g" % x, va="center", fontsize=7.5)
    axis.set_yticks(range(len(lines)), [job for job, _ in lines])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("seconds (logarithmic)")
    axis.set_title(title, fontsize=11, loc="left", color=INK)
    axis.grid(axis="x", color=INK, alpha=0.25, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return svg(plot, figure)


def time_lines(samples, series, title):
    """One panel for each of series, [(key, label, factor)], over hours."""
    plot = pyplot()
    if not plot or not samples:
        return None
    figure, axes = plot.subplots(1, len(series), squeeze=False,
                                 figsize=(3.6 * len(series), 2.4))
    x = [s["s"] / 60 for s in samples]
    for axis, (key, label, factor) in zip(axes[0], series):
        axis.plot(x, [s[key] * factor for s in samples],
                  color=COLOURS["bounded"])
        axis.set_ylim(bottom=0)
        axis.set_xlabel("minutes")
        axis.set_title(label, fontsize=10, loc="left", color=INK)
        axis.grid(color=INK, alpha=0.25, linewidth=0.6)
    figure.suptitle(title, fontsize=11, x=0.02, ha="left", color=INK)
    figure.tight_layout()
    return svg(plot, figure)


def unique(text, prefix):
    """matplotlib's ids are the same in each plot; in one page they clash."""
    text = re.sub(r'\bid="([^"]+)"', r'id="%s-\1"' % prefix, text)
    text = re.sub(r'url\(#([^)]+)\)', r'url(#%s-\1)' % prefix, text)
    return re.sub(r'xlink:href="#([^"]+)"',
                  r'xlink:href="#%s-\1"' % prefix, text)
