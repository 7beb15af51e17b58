# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of experiments that have reports of their own, in one form.

cases(record) gives a list of {case, off_s, on_s, what}: seconds without and
with what the script is about, and what these are; with limit_s where the
script knows how long it takes at least.
"""


def of_hints(result):
    for c in result["cases"]:
        if "hints" in c:
            yield {"case": "hints-" + c["case"], "off_s": c["plain"][0],
                   "on_s": c["hints"][0], "limit_s": c["oracle"][0],
                   "what": "without hints, with; the oracle takes %.2f s" %
                   c["oracle"][0]}


def of_patterns(result):
    for name, c in result["cases"].items():
        if not c["void"] and "ours_s" in c:
            yield {"case": name, "off_s": c["direct_s"][0],
                   "on_s": c["ours_s"][0], "limit_s": c.get("least_s"),
                   "what": "direct, ours" + (
                       "; the bytes alone take %.2f s" % c["least_s"]
                       if c.get("least_s") else "")}


def of_sessions(result):
    for name, c in result["cases"].items():
        arms = c["arms"]
        if "without" in arms and "with" in arms:
            yield {"case": "sessions-" + name,
                   "off_s": arms["without"]["total_s"]["median"],
                   "on_s": arms["with"]["total_s"]["median"],
                   "what": "login and application, without replay, with"}


def of_layout(result):
    for d in result["disks"]:
        for key, what in (("s", "seconds"), ("reads", "reads of the disk")):
            old, new = d["before"][key], d["after"][key]
            if key == "s":
                old, new = old["mean"], new["mean"]
            yield {"case": "layout-%d-%s" % (d["delay_ms"], key),
                   "off_s": old, "on_s": new, "what": "%s, as it came, laid "
                   "out; each read takes %d ms more" % (what, d["delay_ms"])}


def of_copies(result):
    for r in result["rows"]:
        for key, what in (("us_per_mib", "time"), ("cpu_us_per_mib", "CPU")):
            yield {"case": "copies-%s-%s" % (r["test"], what.lower()),
                   "off_s": r["copying"][key]["mean"],
                   "on_s": r["plain"][key]["mean"],
                   "copies": r["plain"]["copies_per_byte"],
                   "what": "µs of %s a MiB, a daemon that copies, ours: %.3f "
                   "copies a byte" % (what, r["plain"]["copies_per_byte"])}


def of_any(result):
    found = result.get("cases", [])
    if isinstance(found, dict):
        found = [dict(c, case=name) for name, c in found.items()
                 if isinstance(c, dict)]
    for c in found:
        if {"case", "off_s", "on_s"} <= set(c):
            yield {"case": c["case"], "off_s": c["off_s"], "on_s": c["on_s"],
                   "what": c.get("what", "")}


READERS = {"patterns": of_patterns, "hints": of_hints,
           "sessions": of_sessions, "layout": of_layout, "copies": of_copies}


def cases(record):
    """Those of a record; none where it has another form than is known."""
    result = record.get("result")
    if record["kind"] != "other" or not isinstance(result, dict):
        return []
    try:
        return [c for c in READERS.get(record["id"], of_any)(result)
                if c["off_s"] and c["on_s"] is not None]
    except (KeyError, TypeError, IndexError, AttributeError):
        return []


def by_name(records):
    return {c["case"]: c for r in records for c in cases(r)}
