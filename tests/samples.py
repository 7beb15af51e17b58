#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that a user is given to start from are right: the presets and the
sample of the configuration, as they are and with all that is commented out
there, and the version of the packages and what they are built with.

    tests/samples.py FOREFETCHD
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def wrong_conf(daemon, name, text):
    """Returns forefetchd's words against this configuration, or None."""
    with tempfile.TemporaryDirectory(prefix="ff-samples.") as tmp:
        path = Path(tmp) / name
        # The directory of the cache is not what is tested.
        path.write_text(re.sub(r"(?m)^#?cache_dir = \S+", "cache_dir = %s/cache" % tmp, text))
        out = subprocess.run([daemon, "-t", "-f", str(path)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if out.returncode == 0 else out.stdout.strip()


def wrong_samples(daemon):
    for path in [*sorted((ROOT / "configs").glob("*.conf")),
                 ROOT / "configs/farm/runner.conf"]:
        text = path.read_text()
        yield path.name, wrong_conf(daemon, path.name, text)
        yield path.name + ", with its examples", wrong_conf(
            daemon, path.name, re.sub(r"(?m)^#([^# \n])", r"\1", text))


def wrong_version():
    cmake = re.search(r"project\(forefetch VERSION (\S+)",
                      (ROOT / "CMakeLists.txt").read_text())[1]
    first = (ROOT / "debian/changelog").read_text().split("\n", 1)[0]
    debian = re.search(r"\(([^-)]+)", first)[1]
    if cmake != debian:
        return "%s, but CMakeLists.txt has %s" % (debian, cmake)
    return None


def wrong_depends():
    """A package that a build needs is named twice: for people, and for the
    packages."""
    section = re.search(r"(?ms)^\[build\]\n(.*?)^\[", (ROOT / "debian-packages").read_text())[1]
    depends = re.search(r"(?ms)^Build-Depends:(.*?)^\S", (ROOT / "debian/control").read_text())[1]
    # Every package may use the first, and the other is a name of pkgconf.
    missing = (set(section.split()) - {"build-essential", "pkg-config"}
               - set(re.findall(r"(?m)^ ([^ ,]+)", depends)))
    return "no " + ", ".join(sorted(missing)) if missing else None


# These files tell users to set something.
TEXTS = ("proxy/*/*.c", "cli/*/*.c", "configs/*", "docs/*.[0-9]", "docs/*.md", "README.md")


def wrong_names():
    """Where somebody is told to set a key by a name that it had once."""
    rows = re.search(r"(?ms)^static const struct config_former formers.*?^};",
                     (ROOT / "proxy/config/config_key.c").read_text())[0]
    formers = "|".join(re.findall(r'\{"(\w+)"', rows))
    # A text of C goes on in the next line.
    told = re.compile(r"`(%s)`|\bset (%s)[ =]|^ *#?(%s) = " % ((formers,) * 3), re.M)
    for path in sorted(p for glob in TEXTS for p in ROOT.glob(glob) if p.is_file()):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text(errors="replace"))
        found = told.search(text)
        if found:
            yield str(path.relative_to(ROOT)), "names a key as it was: " + found[0]


def main():
    results = [*wrong_samples(sys.argv[1]), ("debian/changelog", wrong_version()),
               ("debian/control: Build-Depends", wrong_depends()),
               *wrong_names()]
    bad = [(name, why) for name, why in results if why]
    for name, why in bad:
        print("%s: %s" % (name, why))
    print("samples: %d looked at, %d wrong" % (len(results), len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
