# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a campaign: tried, failed, since when."""
import json

# Of a part, in the table; JSON has all.
SHOWN_MAX = 10
HEAD = ("part", "tried", "hours", "failed", "mended", "since", "last run")


def rows(state, parts):
    """A dictionary for each part that the campaign knows of."""
    found = []
    for part in parts:
        record = state.data["parts"].get(part.name)
        if record is None:
            continue
        failed = state.open_findings(part.name)
        mended = [f for f in state.data["findings"]
                  if f["part"] == part.name and f["mended"]]
        since = min((f["since"] for f in failed), key=lambda m: m["at"], default=None)
        found.append({"part": part.name, "tried": record["tried"], "unit": part.unit,
                      "hours": record["seconds"] / 3600, "failed": len(failed),
                      "mended": len(mended), "since": since,
                      "last": record["last"], "note": record["note"]})
    return found


def when(mark):
    return "%s (%s)" % (mark["commit"], mark["at"]) if mark else "-"


def draw(state, parts):
    lines = [HEAD]
    notes = []
    for r in rows(state, parts):
        lines.append((r["part"], "{:,} {}".format(r["tried"], r["unit"]),
                      "%.2f" % r["hours"], str(r["failed"]), str(r["mended"]),
                      when(r["since"]), r["last"] or "never"))
        if r["note"]:
            notes.append("%s: %s" % (r["part"], r["note"]))
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for line in lines:
        print("  ".join(text.ljust(w) for text, w in zip(line, widths)).rstrip())
    for note in notes:
        print("\n" + note)
    for part in parts:
        some = [f for f in state.data["findings"] if f["part"] == part.name]
        # Findings that still fail come first.
        some.sort(key=lambda f: f["mended"] is not None)
        for f in some[:SHOWN_MAX]:
            draw_finding(f)
        if len(some) > SHOWN_MAX:
            print("\n%s: %d more; --json shows them" % (part.name, len(some) - SHOWN_MAX))


def draw_finding(f):
    print("\n%s: %s" % (f["part"], f["key"]))
    if f["said"] not in f["key"]:
        print("    " + f["said"])
    if f["mended"]:
        print("    mended   %s; it failed since %s" % (when(f["mended"]), when(f["since"])))
        return
    print("    since    %s, last %s, %d times" % (when(f["since"]), when(f["last"]),
                                                  f["times"]))
    print("    again    %s\n    output   %s" % (f["again"], f["log"]))


def draw_json(state, parts):
    print(json.dumps({"begun": state.data["begun"], "parts": rows(state, parts),
                      "findings": state.data["findings"]}, indent=1))
