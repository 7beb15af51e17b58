# SPDX-License-Identifier: GPL-2.0-or-later
"""git, grep, find, tar, ctags over source trees.

The histories are releases of a PyPI package, committed one after another,
with small commits between them.
"""
import os
import shutil

from common import workload


def history(w, project, versions, small=6, place="work"):
    """A repository place/ with tags v0, v1, ...: one for each version, and
    `small` commits that change 2% of the files after each."""
    w.sh("git init -q -b main " + place)
    for number, version in enumerate(versions):
        w.corpus.sdist("%s==%s" % (project, version), w.path("unpacked"))
        w.sh("find . -mindepth 1 -maxdepth 1 ! -name .git "
             "-exec rm -rf {} +", place)
        shutil.copytree(w.path("unpacked"), w.path(place), symlinks=True,
                        dirs_exist_ok=True)
        commit(w, place, "release")
        for n in range(small):
            w.touch(place, [".py"], share=0.02)
            commit(w, place, "change")
        w.sh("git tag v%d" % number, place)
    shutil.rmtree(w.path("unpacked"))
    w.sh("git gc -q", place)


def commit(w, place, message):
    w.sh("git add -A && git commit -q --allow-empty -m '%s %d'" % (
        message, w.random.randrange(10**6)), place)


def on_a_repository(w, project, versions, command, after=None):
    """A command in a repository: a commit, a new release pulled, a file
    added and one removed, no change, a second checkout."""
    history(w, project, versions)

    def run(place, suffix=""):
        w.run(command, place, suffix)
        if after:
            w.sh(after, place)
    w.sh("git checkout -q v0 && git status", "work")
    w.round("fresh checkout of the first release")
    run("work")
    w.round("commit: 5% of the files changed")
    w.touch("work", [".py"])
    w.sh("git checkout -q -b topic", "work")
    commit(w, "work", "topic")
    run("work")
    w.round("the next release checked out")
    w.sh("git checkout -q v1 && git status", "work")
    run("work")
    w.round("files added and removed, 5% changed, not committed")
    files = w.files("work", [".py"])
    os.unlink(files[len(files) // 3])
    w.write("work/added.py", "import os\n")
    w.touch("work", [".py"])
    run("work")
    w.round("no change; and a second checkout")
    run("work")
    w.sh("git clone -q -b v1 work second/work", ".")
    run("second/work", "@second")


@workload("git-status")
def git_status(w):
    on_a_repository(w, "sphinx", ["6.2.1", "7.4.7"], "git status --short")


@workload("git-log")
def git_log(w):
    on_a_repository(w, "sphinx", ["6.2.1", "7.4.7"],
                    "git log --stat -n 8 && git log --oneline -n 5 -- tests "
                    "&& git blame -s README.rst || git blame -s setup.py; "
                    "git show HEAD~2; true")


@workload("git-checkout")
def git_checkout(w):
    on_a_repository(w, "networkx", ["2.8.8", "3.2.1"],
                    "git stash -q; git checkout -q v0 && git checkout -q v1",
                    after="git status; true")


@workload("git-diff")
def git_diff(w):
    on_a_repository(w, "pillow", ["9.5.0", "10.4.0"],
                    "git diff --stat v0 v1; git diff HEAD; "
                    "git commit -q -a --allow-empty -m more")


@workload("grep-tree")
def grep_tree(w):
    on_a_repository(w, "networkx", ["3.0", "3.2.1"],
                    "grep -rn --exclude-dir=.git 'def bfs' . | head -50")


@workload("find-tree")
def find_tree(w):
    on_a_repository(w, "pygments", ["2.15.1", "2.18.0"],
                    "find . -name .git -prune -o -name '*.py' -size +60k "
                    "-print; find tests -newer LICENSE -name '*.py' -exec "
                    "head -1 {} + > /dev/null")


@workload("tar-tree")
def tar_tree(w):
    on_a_repository(w, "sphinx", ["6.2.1", "7.4.7"],
                    "tar --exclude .git -cf - . | cat > ../tree.tar")


@workload("ctags-wc")
def ctags_wc(w):
    on_a_repository(w, "pygments", ["2.15.1", "2.18.0"],
                    "ctags -R -f ../tags pygments; "
                    "find pygments -name '*.py' | xargs wc -l")
