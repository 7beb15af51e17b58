# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: sections of text, tables and plots, as Markdown and HTML.

A block of a section is ("text", str), ("list", [str]), ("table", head, rows)
or ("plot", name, svg, description).
"""
import os
import re
import time

import document
import experiments
import figures
import others
import plots
import seedrows
from seedrows import percent


def number(value, form="%.2f"):
    return "–" if value is None else form % value


def seconds(s):
    if not s:
        return "–"
    return ("%.3f" if s["median"] < 1 else
            "%.2f" if s["median"] < 10 else "%.1f") % s["median"]


def spread(s):
    if not s:
        return "–"
    if s["n"] < 2:
        return seconds(s) + " (1 run)"
    form = "%.2f–%.2f" if s["median"] < 10 else "%.1f–%.1f"
    return "%s (%s)" % (seconds(s), form % (s["low"], s["high"]))


def times(value):
    return "–" if value is None else \
        "× %.3f" % value if value < 0.1 else \
        "× %.2f" % value if value < 10 else "× %.0f" % value


def ran(records):
    return [r for r in records if r["outcome"] != "skipped"]


def busy(records):
    """A block that says that the machine had other work, or none."""
    made = ran(records)
    loads = [r["load"] for r in made
             if r.get("load", 0) > 1.5 * r["versions"].get("cpus", 1)]
    if loads:
        yield "text", "**Others used the machine meanwhile**: %d of %d cells " \
            "ended at a load average of up to %.0f. The arms of a cell took " \
            "turns, so they can be compared, but whatever needs a processor " \
            "took longer than it has to, the floor too." % (
                len(loads), len(made), max(loads))


# --- sections ----------------------------------------------------------------

def section_headline(records, rows):
    lines = figures.headline(rows)
    blocks = []
    if not lines:
        return "In one table", [("text", "The headline was not run; `bench/run "
                                         "headline` runs it.")]
    table = []
    for line in lines:
        ours = line["ours"]
        table.append(
            [experiments.JOBS.get(line["job"], line["job"])] +
            [seconds(line[a]["s"]) if line[a] else "not run"
             for a in ("direct", "fscache")] +
            [spread(ours["s"]), seconds(line["floor"]["s"])
             if line["floor"] else "–", number(ours["first_s"]),
             times(line["direct"]["s"]["median"] / ours["s"]["median"])
             if line["direct"] else "–"])
    said = []
    for arm, form in (("direct", "%.1f × as fast as NFSv3"),
                      ("fscache", "%.1f × as fast as NFSv3 with a warm "
                                  "FS-Cache"),
                      ("floor", "it takes %.2f × the time of NFSv3 without a "
                                "link")):
        value, count = figures.over_jobs(lines, arm)
        if value:
            if arm == "floor":
                value = 1 / value
            said.append(form % value + " (%d jobs)" % count)
    blocks.append(("text", "At 40 ms and 20 Mb/s, in the median over today's "
                           "jobs, trained: " + "; ".join(said) + "."))
    blocks += busy(records)
    blocks.append(("table", [
        "job, seconds", "NFSv3", "FS-Cache, warm", "forefetch, trained",
        "floor", "forefetch, first run", "faster than NFSv3"], table))
    picture = plots.bars(
        [(line["job"], {a: line[a]["s"] for a in ("direct", "fscache", "floor")
                        if line[a]} | {"bounded": line["ours"]["s"]})
         for line in lines], "Today's jobs at 40 ms, 20 Mb/s: less is better")
    if picture:
        blocks.append(("plot", "headline", picture,
                       "Seconds of today's jobs, one bar for each arm"))
    return "In one table", blocks


def not_run(records, quick):
    """Cells of which there is no record at all."""
    known = {r["id"] for r in records}
    for e in experiments.ALL:
        missing = [c.id for c in e.cells(quick) if c.id not in known]
        if missing:
            yield "%s: not run yet (%s)" % (", ".join(missing), e.title)


def section_worse(records, rows, quick):
    found = figures.worse(records, rows)
    skipped = ["%s: %s" % (r["id"], r["reason"]) for r in records
               if r["outcome"] == "skipped"]
    skipped += not_run(records, quick)
    skipped += ["%s is not available here: %s" % (figures.name(a), why)
                for a, why in figures.missing_arms(records).items()]
    blocks = []
    if found:
        blocks.append(("text", "All that took more than %.2f × the direct "
                               "mount, or prefetch off, or failed, or gave "
                               "another output:" % figures.WORSE))
        blocks.append(("list", found))
    else:
        blocks.append(("text", "Nothing took longer than on the direct mount, "
                               "failed, or gave another output."))
    if skipped:
        blocks.append(("text", "Not run:"))
        blocks.append(("list", skipped))
    return "What got worse, and what is missing", blocks


def section_seeds(records, rows):
    table = seedrows.table(rows, records)
    met = sum(1 for r in table if r["met"])
    not_met = sum(1 for r in table if r["met"] is False)
    text = "Of %d published figures, %d are met, %d are not, %d were not run." \
        % (len(table), met, not_met, len(table) - met - not_met)
    if any(r["kind"] == "jobs" for r in records):
        text += " Theirs are from other machines and local disks or old " \
                "networks; the ratios are what can be compared. Ours are " \
                "trained, with what former runs left in the cache on disk; " \
                "those beside Lei and Duchamp's without any of the data."
    return "The seeds' figures beside ours", [
        ("text", text),
        ("text", "A figure is met where ours is at least theirs, or where at "
                 "least %.0f%% of what could be masked was. What could be "
                 "masked is the time above the limit: the floor (the same job "
                 "without a link), the bytes at the link's rate, or an "
                 "oracle that knows what comes." % (
                     100 * seedrows.NEARLY_ALL)),
        ("table", ["from", "what", "theirs", "ours", "masked", ""],
         [[r["seed"], r["what"], r["theirs"], r["ours"],
           percent_of(r["masked"]), seedrows.verdict(r)] for r in table])]


def job_table(rows):
    out, last = [], None
    for r in rows:
        job = r["job"] if (r["cell"], r["job"]) != last else ""
        last = r["cell"], r["job"]
        out.append([
            job, figures.name(r["arm"]), spread(r["s"]) + (
                " **%d WRONG**" % r["wrong"] if r["wrong"] else ""),
            number(r["first_s"]), times(r.get("times_direct")),
            times(r.get("times_floor")), number(r.get("read_ms"), "%.1f"),
            number(r.get("io_s")), percent_of(r.get("masked")),
            number(r.get("calls"), "%d"),
            number(r.get("data_misses"), "%d"),
            number(r.get("name_misses"), "%d"),
            number(None if r.get("unused") is None else
                   r["unused"] / 1024, "%.0f"),
            number(r.get("cpu_s")), number(r.get("server_cpu_s")),
            number(r.get("rss_kib") and r["rss_kib"] / 1024, "%.0f")])
    return ("table", [
        "job", "arm", "elapsed s (95%)", "first run", "to direct", "to floor",
        "READ ms", "I/O wait s", "masked", "RPCs", "READ misses",
        "name misses", "unused KiB", "CPU s", "server CPU s", "MiB"], out)


def percent_of(value):
    return "–" if value is None else ("%.0f%%" % (100 * value)).replace("-", "−")


def sections_jobs(records, rows):
    """A section for each experiment that has jobs, a table for each group."""
    for e in experiments.ALL:
        mine = [r for r in rows if r["experiment"] == e.name]
        if not mine:
            continue
        blocks = []
        for group in dict.fromkeys(r["group"] for r in mine):
            part = [r for r in mine if r["group"] == group]
            link = part[0]["link"]
            blocks.append(("text", "%s: %s (%s)" % (
                group, link, experiments.LINKS.get(link, ""))))
            blocks.append(job_table(part))
            jobs = list(dict.fromkeys(r["job"] for r in part))
            picture = e.name != "headline" and plots.bars(
                [(j, {r["arm"]: r["s"] for r in part
                      if r["job"] == j and r["s"]}) for j in jobs],
                "%s, %s" % (group, experiments.LINKS.get(link, link)))
            if picture:
                blocks.append(("plot", group, picture, "Seconds of the jobs "
                               "of %s, one bar for each arm" % group))
        yield e.title[0].upper() + e.title[1:], blocks


def section_lei(rows):
    """Makes the figures of Tables 3, 4 and 5 of Lei and Duchamp."""
    table = []
    for r in figures.pick(rows, experiment="leiduchamp",
                          arm=("first", "first-block")):
        direct = figures.one(rows, cell=r["cell"], job=r["job"], arm="direct")
        if not r["s"] or not direct or not direct["s"]:
            continue
        cells = [r["job"], r["link"]]
        for key, form in (("data_misses", "%d"), ("name_misses", "%d"),
                          ("wait_s", "%.2f")):
            cells += ["%s → %s" % (number(direct[key], form),
                                   number(r[key], form)),
                      percent(-(figures.down(r[key], direct[key]) or 0))]
        share = figures.ratio(r["cpu_s"], r["s"]["median"])
        table.append(cells + [percent_of(share)])
    if table:
        yield "Filters and builds, as Lei and Duchamp's Tables 3, 4, 5", [
            ("text", "NFSv3 → forefetch, which fetches first blocks ahead and "
                     "has none of the data at the start of a filter's run."),
            ("table", ["job", "link", "buffer misses", "", "name misses", "",
                       "latency s", "", "daemon's CPU"], table)]


def section_first(records):
    """Tables of bench/first/run, which has the bars."""
    blocks = []
    for r in records:
        if r["kind"] != "first" or not r["result"]:
            continue
        x = r["result"]
        blocks.append(("text", "%s: %s (%s)" % (
            r["id"], r["link"], experiments.LINKS.get(r["link"], ""))))
        if x["after_rows"]:
            blocks.append(("table", [
                "job", "after", "empty cache, s", "after it, s", "ratio"],
                [[a["job"], a["after"], extremes(a["empty_s"]),
                  extremes(a["after_s"]), number(a["ratio"])]
                 for a in x["after_rows"]]))
        else:
            blocks.append(("table", [
                "job", "direct s", "least s", "first run, s", "faster", "bar",
                "bytes to direct", "CPU s", "misses"],
                [[a["job"] + (" **%d WRONG**" % a["wrong"] if a["wrong"]
                              else ""),
                  extremes(a["direct_s"]), number(a["least_s"]),
                  extremes(a["first_s"]), times(a["faster"]),
                  times(a["bar"]) if a["allowed"] else "–",
                  number(a["times_wire"]), number(a["cpu_s"]),
                  number(a["misses"], "%.0f")] for a in x["rows"]]))
        if x["missed"]:
            blocks.append(("list", ["NOT met: " + m for m in x["missed"]]))
    if blocks:
        yield "First runs ever", [
            ("text", "bench/first/run: an empty cache and nothing learned; "
                     "median, and least to most of the runs; least: what the "
                     "job takes without a link, or its bytes on this one.")
        ] + blocks


def section_machines(records):
    """The table of bench/farm/run, which has the bars."""
    blocks = []
    for r in records:
        if r["kind"] != "machines" or not r["result"]:
            continue
        x = r["result"]
        if x["farm"] is False:
            blocks.append(("text", "This build has no farms: no machine "
                                   "shares anything."))
        blocks.append(("table", [
            "row", "job", "what", "", "least to most", "bar", "aim", "", ""],
            [[f["row"], f["job"], f["what"], number(f["value"], "%.4g"),
              "%.2f–%.2f" % (f["min"], f["max"]) if f["n"] > 1 else "–",
              at_limit(f, f["bar"]), at_limit(f, f["aim"]), f["verdict"],
              f["more"]] for f in x["rows"]]))
        if x["problems"]:
            blocks.append(("list", x["problems"]))
    if blocks:
        yield "Machines that share by one engine", [
            ("text", "bench/farm/run: each machine has a forefetchd, a disk and "
                     "a mount of its own; a Redis server is 0.2 ms away. "
                     "Figures with several rounds are medians of the ratios "
                     "of pairs.")] + blocks


def at_limit(f, value):
    return "–" if value is None else \
        ("≥ %g" if f["least"] else "≤ %g") % value


def extremes(s):
    """As spread(), of {median, min, max, n}."""
    return spread(s and dict(s, low=s["min"], high=s["max"]))


def section_harm(records):
    table = []
    for r in records:
        if r["kind"] != "harm" or not r["result"]:
            continue
        for c in r["result"]["cases"]:
            if c["case"] == "ls":
                table.append(["ls beside a trained job", "%.1f ms" %
                              c["load"]["median"], "%.1f ms idle" %
                              c["idle"]["median"], "%.2f units later a round "
                              "trip" % c["median_late_units"], "–"])
            else:
                table.append([c["case"], "%.2f s" % c["on"]["s"],
                              "%.2f s" % c["off"]["s"],
                              "× %.3f" % c["ratio"],
                              percent_of(c["waste"])])
            if c.get("first"):
                table.append([c["case"] + ", first run",
                              "%.2f s" % c["first"]["on"],
                              "%.2f s" % c["first"]["off"],
                              "× %.3f" % c["first"]["ratio"], "–"])
    if table:
        yield "Where prefetch cannot help (2 Mb/s, 20 ms)", [
            ("text", "bench/harm/run: random reads, a find, the names of a "
                     "large directory, a reader beside a wrongly trained "
                     "job, with prefetch on and off in turns; unused: "
                     "fetched in vain, of the bytes that prefetch off "
                     "brought."),
            ("table", ["case", "on", "off", "on / off", "unused"], table)]


def section_load(records):
    table = []
    for r in records:
        if r["kind"] != "load" or not isinstance(r["result"], list):
            continue
        server = "knfsd (in the lab's guest)" if "knfsd" in r["id"] \
            else "nfs-ganesha (native)"
        for x in r["result"]:
            if x["target"] == "again" or x.get("errors") is None:
                continue
            table.append([server, str(x["connections"]), x["op"],
                          x["target"], "%.0f" % x["ops_per_s"],
                          "%.0f" % x["p50_us"], "%.0f" % x["p99_us"],
                          str(x["errors"])])
    if table:
        yield "Calls a second, without a link (nfsload)", [
            ("text", "direct: the server itself; the others go through "
                     "forefetchd, which has seen everything. Median over the "
                     "rounds, which take turns."),
            ("table", ["server", "connections", "call", "target", "a second",
                       "p50 µs", "p99 µs", "errors"], table)]


def section_million(records):
    for r in records:
        if r["kind"] == "million" and r["result"]:
            x = r["result"]
            yield "A tree of %s files" % format(x["files"], ","), [
                ("table", ["", "seconds"], [
                    ["find, direct", number(x["direct_s"])],
                    ["find, forefetch, first", number(x["first_s"])],
                    ["find, forefetch, again", number(x["again_s"])],
                    ["forefetchd ends", number(x["ended_s"])],
                    ["forefetchd serves again", number(x["opened_s"])],
                    ["find, forefetch, after that",
                     number(x["restarted_s"])]]),
                ("text", "The daemon then took %.0f MiB, %.0f bytes a name "
                         "and object by its own count; names known: %s. It "
                         "keeps %.0f MiB on disk." % (
                             x["rss_kib"] / 1024, x["entry_bytes"],
                             format(x["names"], ","), x["kept_kib"] / 1024))]


def section_soak(records):
    for r in records:
        if r["kind"] != "soak" or not r["result"]:
            continue
        samples = r["result"]["samples"]
        if len(samples) < 2:
            continue
        half = samples[len(samples) // 2]
        end = samples[-1]
        blocks = [("text", "%d rounds of jobs, changes on the server, broken "
                   "links and new mounts in %.0f minutes; memory %.1f "
                   "MiB at half time and %.1f at the end, descriptors %d and "
                   "%d; jobs that failed or differed: %d." % (
                       r["result"]["rounds"], end["s"] / 60,
                       half["rss_kib"] / 1024, end["rss_kib"] / 1024,
                       half["fds"], end["fds"], r["result"]["wrong"]))]
        picture = plots.time_lines(samples, [
            ("rss_kib", "resident memory, MiB", 1 / 1024),
            ("fds", "descriptors", 1), ("job_s", "seconds of a round", 1)],
            "A day, compressed")
        if picture:
            blocks.append(("plot", "soak", picture,
                           "Memory, descriptors and time over the rounds"))
        yield "A day, compressed", blocks


def figure(value):
    return ("%.0f" if value >= 100 else "%.3g") % value


def section_other(records):
    """Scripts with reports of their own."""
    table = [[r["id"], c["case"], figure(c["off_s"]), figure(c["on_s"]),
              percent(c["on_s"] / c["off_s"] - 1), c["what"]]
             for r in records for c in others.cases(r)]
    if table:
        yield "Patterns, hints, sessions, layout", [
            ("text", "Each of these commands prints more: bench/patterns/run, "
                     "bench/hints/run, bench/sessions/run, bench/layout/run."),
            ("table", ["script", "case", "without", "with", "", "what"],
             table)]


def section_method(records, rows, quick):
    made = ran(records)
    blocks = [("text", "One guest (User-Mode Linux) holds a real NFS server, "
               "an emulated link (netem at both ends), forefetchd with its "
               "cache on a disk image, and the kernel's NFS client. Before "
               "each run the export is mounted anew and all page caches are "
               "dropped, but not what FS-Cache, rclone or forefetchd keep on "
               "disk; proxies run on between runs, with what they hold in "
               "memory. In each round the arms take "
               "turns in an order that the seed decides. A run counts only if "
               "its output and exit status are those of the direct mount. "
               "Elapsed: median and the interval of the median from order "
               "statistics, 95% where there are six runs or more; below that "
               "least and most, which is 94% for five, 88% for four, 75% for "
               "three. I/O wait: elapsed less user and system time of the "
               "job; masked: the share of the direct mount's that is gone. "
               "RPCs: of the server; misses: READs and LOOKUPs that the "
               "client sent and the proxy could not answer at once; "
               "unused: fetched ahead and not wanted within ten seconds, a "
               "run; CPU, MiB: of forefetchd.")]
    if quick:
        blocks.append(("text", "These are the quick sets: smaller trees, "
                               "fewer runs and links."))
    jobs = [j for j in dict.fromkeys(r["job"] for r in rows)
            if j in experiments.JOBS]
    if jobs:
        blocks.append(("text", "Jobs:"))
        blocks.append(("table", ["job", "what it does"],
                       [[j, experiments.JOBS[j]] for j in jobs]))
    mounts = {}
    for r in rows:
        if r.get("mount"):
            mounts.setdefault(r["arm"], r["mount"])
    if mounts:
        blocks.append(("text", "Mount options, as the kernel shows them:"))
        blocks.append(("table", ["arm", "options"],
                       [[figures.name(a), m] for a, m in mounts.items()]))
    blocks.append(("text", "Cells:"))
    blocks.append(("table", ["cell", "command", "seed", "seconds", "load",
                              "outcome"],
                   [[r["id"], "`" + shown(r["command"] or "–") + "`",
                     str(r["seed"]), "%.0f" % r["seconds"],
                     number(r.get("load"), "%.0f"),
                     r["outcome"] + (": " + r["reason"] if r["reason"] else
                                     "")] for r in records]))
    blocks += versions(made)
    return "How it was measured", blocks


def shown(command):
    """Without the directories of the machine that it ran on."""
    return re.sub(r"(?<!\S)/\S*/|(?<==)/\S*/", "", command)


def versions(records):
    """One text, or one for each set of them with the cells that had it."""
    found = {}
    for r in records:
        text = ", ".join("%s %s" % item for item in r["versions"].items())
        found.setdefault(text, []).append(r["id"])
    for text, cells in found.items():
        of = " of " + ", ".join(cells) if len(found) > 1 else ""
        yield "text", "Versions%s: %s." % (of, text)


def build(records, quick):
    rows = figures.rows_of(records)
    sections = [section_headline(records, rows), section_worse(records, rows, quick),
                section_seeds(records, rows)]
    sections += list(sections_jobs(records, rows))
    sections += list(section_lei(rows))
    for make in (section_first, section_machines, section_harm, section_load,
                 section_million, section_soak, section_other):
        sections += list(make(records))
    sections.append(section_method(records, rows, quick))
    return sections


def write(records, where, quick):
    """Writes report.md, report.html and headline.svg; returns their paths."""
    sections = build(records, quick)
    when = time.strftime("%Y-%m-%d", time.gmtime(
        max(r["started"] for r in records)))
    title = "forefetch: the evidence"
    builds = {r["versions"]["forefetchd"]: r["versions"]["commit"]
              for r in ran(records)}
    under = "%s, %s; `bench/run%s`" % (
        when, "%d builds of forefetchd, see below" % len(builds)
        if len(builds) > 1 else next(iter(builds.values()), "nothing ran"),
        " --quick" if quick else "")
    os.makedirs(where, exist_ok=True)
    pictures = [b for _, blocks in sections for b in blocks
                if b[0] == "plot" and b[1] == "headline"]
    texts = {"report.md": document.markdown(title, under, sections),
             "report.html": document.page(title, under, sections)}
    if pictures:
        texts["report-headline.svg"] = document.lone_svg(pictures[0][2])
    for name, text in texts.items():
        with open(os.path.join(where, name), "w") as f:
            f.write(text)
    return [os.path.join(where, name) for name in texts]
