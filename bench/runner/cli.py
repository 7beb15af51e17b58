# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of bench/run."""
import argparse
import json
import os
import signal
import sys

import experiments
import readme
import report
import runner

USAGE = """\
bench/run list
       bench/run NAME... | all | headline  [--quick] [options]
       bench/run report [--quick] [options]
       bench/run readme"""

ABOUT = """\
Runs experiments one after the other. `list` names them, and `all` runs all of
them. An experiment has one or more cells; a cell is one call of bench/jobs/run,
bench/filters/run, bench/harm/run and so on, in a guest of its own. The result of
each cell is written to a file in the results directory: the command, versions,
link, seed, the mount options of every run, and how it ended. A cell that failed,
or a run whose output differs from the direct mount's, is a result too. At the
end it writes the report (report.md, report.html and a plot) and prints where.

You can interrupt it; the same command continues. It repeats a cell only if the
cell's command or forefetchd has changed, or with --again or --fresh. It first
fetches what is missing (packages, the trees that the jobs read); with --no-fetch
it only says what is missing.

`readme` writes README's figures anew, from docs/report.md.
"""


def parse(argv):
    p = argparse.ArgumentParser(
        prog="bench/run", usage=USAGE, description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit status: 0; 1 a cell failed, or a run was wrong that is "
        "not a peer's; 2 usage")
    p.add_argument("names", nargs="+", metavar="NAME")
    p.add_argument("--quick", action="store_true",
                   help="run smaller sets: all of them take about an hour")
    p.add_argument("--results", metavar="DIR",
                   help="default: ~/.cache/forefetch/evidence/full, or quick")
    p.add_argument("--resume", action="store_true",
                   help="continue with what is there (this is always so)")
    p.add_argument("--again", action="store_true",
                   help="repeat the cells that failed")
    p.add_argument("--fresh", action="store_true", help="repeat all cells")
    p.add_argument("--seed", type=int, default=1,
                   help="seed of the order in which arms take turns "
                   "(default: 1)")
    p.add_argument("--build", metavar="DIR", help="the build directory "
                   "(default: build, in this checkout)")
    p.add_argument("--no-fetch", action="store_true",
                   help="install nothing and download nothing")
    p.add_argument("--output", metavar="DIR",
                   help="where the report is written "
                   "(default: the results directory)")
    p.add_argument("--json", action="store_true",
                   help="print the results as JSON as well")
    p.add_argument("--verbose", "-v", action="store_true",
                   help="show what the cells print while they run")
    return p.parse_args(argv)


def default_results(quick):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "forefetch", "evidence",
                        "quick" if quick else "full")


def show_list():
    for e in experiments.ALL:
        quick, full = (sum(c.minutes for c in e.cells(q))
                       for q in (True, False))
        print("%-10s %s\n%10s about %d min, --quick %d min" % (
            e.name, e.title, "", round(full), round(quick)))


def write_readme():
    try:
        path = readme.write()
    except (OSError, readme.Wrong) as e:
        say(str(e))
        return 1
    say("wrote " + path if path else "README has the report's figures already")
    return 0


def say(text):
    print("run: " + text, file=sys.stderr, flush=True)


def on_signal(number, frame):
    raise KeyboardInterrupt


def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    if args.names == ["list"]:
        show_list()
        return 0
    if args.names == ["readme"]:
        return write_readme()
    results = args.results or default_results(args.quick)
    if args.names == ["report"]:
        chosen = experiments.ALL
    else:
        try:
            chosen = experiments.choose(args.names)
        except KeyError as e:
            say("there is no experiment %s; see bench/run list" % e.args[0])
            return 2
    if args.names != ["report"]:
        cells = [c for e in chosen for c in e.cells(args.quick)]
        signal.signal(signal.SIGTERM, on_signal)
        try:
            done = runner.run_all(cells, results, args, say)
        except runner.Missing as e:
            say(str(e))
            return 1
        except KeyboardInterrupt:
            say("interrupted; the same command continues")
            done = False
    else:
        done = True
    records = runner.load(results)
    if not records:
        say("there are no results in %s" % results)
        return 1
    if args.json:
        print(json.dumps(records, indent=1))
    paths = report.write(records, args.output or results, args.quick)
    for path in paths:
        say("wrote " + path)
    return 0 if done and all(runner.good(r) for r in records) else 1
