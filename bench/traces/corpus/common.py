# SPDX-License-Identifier: GPL-2.0-or-later
"""All recipes share these: a scratch directory, packages, changes, recording.

    SCRATCH/cache       what was downloaded
    SCRATCH/root        the root that is watched; paths are relative to it
    SCRATCH/root/tools  Debian packages, unpacked: python, perl, gcc, git, ...
    SCRATCH/root/NAME   the directory of workload NAME

The shells, coreutils and the C library are the machine's own and not seen,
as on a client with a local system and remote software and home directories.
"""
import collections
import glob
import lzma
import os
import random
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import fftrace

TOOLS = """python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
perl-base perl libperl5.36 perl-modules-5.36 perl-doc gcc-12 cpp-12 binutils
binutils-x86-64-linux-gnu binutils-common libbinutils libgcc-12-dev libc6-dev
linux-libc-dev make git groff-base groff man-db vim vim-runtime
universal-ctags""".split()
BACKENDS = """flit_core<4 hatchling hatch-vcs hatch-fancy-pypi-readme
setuptools_scm""".split()
WORKLOADS = {}


def workload(name):
    """Decorator: a recipe function takes a Work and is known by `name`."""
    def register(function):
        assert name not in WORKLOADS, name
        WORKLOADS[name] = function
        return function
    return register


def sh(command, cwd=None, env=None, check=True):
    """A preparation step, not recorded. command: a list or shell text."""
    shell = isinstance(command, str)
    done = subprocess.run(
        ["bash", "-c", command] if shell else command, cwd=cwd, env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, errors="replace")
    if check and done.returncode != 0:
        raise RuntimeError("%s: exit status %d\n%s" % (
            command, done.returncode, done.stdout[-3000:]))
    return done.stdout


class Corpus:
    """The scratch directory and where packages come from."""

    def __init__(self, scratch, names_only=False):
        self.names_only = names_only    # record no traces
        self.scratch = os.path.abspath(scratch)
        self.cache = os.path.join(self.scratch, "cache")
        self.root = os.path.join(self.scratch, "root")
        self.tools = os.path.join(self.root, "tools")
        for path in self.cache, self.root:
            os.makedirs(path, exist_ok=True)

    def env(self, home):
        usr = self.tools + "/usr"
        keep = {k: v for k, v in os.environ.items() if k.startswith((
            "PIP_", "npm_config_", "SSL_", "NODE_EXTRA", "http", "HTTP",
            "REQUESTS_"))}
        keep.update({
            "PATH": usr + "/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": home, "TMPDIR": self.tmp(), "LC_ALL": "C.UTF-8",
            "TZ": "UTC", "TERM": "dumb", "PAGER": "cat",
            "USER": "user", "UV_USE_IO_URING": "0",
            "GIT_EXEC_PATH": usr + "/lib/git-core",
            "GIT_TEMPLATE_DIR": usr + "/share/git-core/templates",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": "user", "GIT_AUTHOR_EMAIL": "user@example.org",
            "GIT_COMMITTER_NAME": "user",
            "GIT_COMMITTER_EMAIL": "user@example.org",
            "PERL5LIB": ":".join(usr + p for p in (
                "/lib/x86_64-linux-gnu/perl/5.36", "/share/perl/5.36",
                "/lib/x86_64-linux-gnu/perl-base")),
            "VIMRUNTIME": usr + "/share/vim/vim90",
            "CC": "gcc-12 --sysroot=" + self.tools,
            "npm_config_cache": self.cache + "/npm",
            "PIP_CACHE_DIR": self.cache + "/pip",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        return keep

    def tmp(self):
        path = os.path.join(self.scratch, "tmp")
        os.makedirs(path, exist_ok=True)
        return path

    def _apt(self):
        """Options for apt with package lists, and sources, of our own."""
        base = os.path.join(self.cache, "apt")
        listing = os.path.join(base, "sources.list")
        options = ["-o", "Dir::Etc::SourceList=" + listing,
                   "-o", "Dir::Etc::SourceParts=-",
                   "-o", "Dir::State::Lists=" + base + "/lists",
                   "-o", "Dir::State::Status=" + base + "/status",
                   "-o", "Dir::Cache=" + base + "/cache",
                   "-o", "APT::Sandbox::User=root"]
        if not os.path.exists(listing):
            for sub in "lists/partial", "cache/archives/partial":
                os.makedirs(os.path.join(base, sub), exist_ok=True)
            open(base + "/status", "w").close()
            mirror = sh(["apt-get", "indextargets", "--format",
                         "$(REPO_URI)", "Identifier: Packages",
                         "Codename: bookworm", "Component: main"]).split()[0]
            with open(listing, "w") as f:
                for kind in "deb", "deb-src":
                    f.write("%s %s bookworm main\n" % (kind, mirror))
            sh(["apt-get"] + options + ["update"])
        return options

    def debian(self, packages, target):
        """Unpack Debian packages below `target`."""
        debs = os.path.join(self.cache, "debs")
        os.makedirs(debs, exist_ok=True)
        missing = [p for p in packages
                   if not glob.glob("%s/%s_*.deb" % (debs, p))]
        if missing:
            sh(["apt-get"] + self._apt() + ["download"] + missing, debs)
        os.makedirs(target, exist_ok=True)
        for package in packages:
            for deb in glob.glob("%s/%s_*.deb" % (debs, package)):
                sh(["dpkg-deb", "-x", deb, target])

    def debian_source(self, package, target):
        """Unpack the source of a Debian package as directory `target`."""
        store = os.path.join(self.cache, "source", package)
        if not glob.glob(store + "/*.dsc"):
            os.makedirs(store, exist_ok=True)
            sh(["apt-get"] + self._apt() + [
                "source", "--download-only", package], store)
        shutil.rmtree(target, ignore_errors=True)
        dsc = glob.glob(store + "/*.dsc")[0]
        sh(["dpkg-source", "--no-check", "-x", dsc, target])

    def sdist(self, requirement, target):
        """Unpack a source distribution of PyPI as directory `target`."""
        store = os.path.join(self.cache, "sdist", requirement)
        if not os.path.isdir(store):
            shutil.rmtree(store + ".new", ignore_errors=True)
            sh([self._builder(), "-m", "pip", "download", "--no-deps",
                "--no-binary", ":all:", "--no-build-isolation", "-d",
                store + ".new", requirement])
            os.rename(store + ".new", store)
        unpack(glob.glob(store + "/*")[0], target)

    def _builder(self):
        """A python with the build backends that pip wants to have before it
        downloads a source distribution."""
        path = os.path.join(self.cache, "builder")
        if not os.path.isdir(path):
            sh([sys.executable, "-m", "venv", path])
            sh([path + "/bin/python3", "-m", "pip", "install", "pip==24.2",
                "setuptools<70", "wheel"] + BACKENDS)
        return path + "/bin/python3"

    def prepare_tools(self):
        if os.path.isdir(self.tools):
            return
        new = self.tools + ".new"
        shutil.rmtree(new, ignore_errors=True)
        self.debian(TOOLS, new)
        bindir = new + "/usr/bin/"
        for name, target in (("gcc", "gcc-12"), ("cc", "gcc-12"),
                             ("python3", "python3.11"),
                             ("vim", "vim.basic"), ("ex", "vim.basic"),
                             ("ctags", "ctags-universal")):
            if not os.path.lexists(bindir + name):
                os.symlink(target, bindir + name)
        for name in "lib", "lib64", "bin", "sbin":
            os.makedirs(new + "/usr/" + name, exist_ok=True)
            if os.path.isdir(new + "/" + name):
                sh("cp -a %s/. usr/%s && rm -r %s" % (name, name, name), new)
            os.symlink("usr/" + name, new + "/" + name)
        for name in "share/doc", "share/locale", "share/lintian":
            shutil.rmtree(new + "/usr/" + name, ignore_errors=True)
        # The linker's scripts want the C library itself in the sysroot.
        lib = new + "/usr/lib/x86_64-linux-gnu/"
        for name in "libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1":
            shutil.copy("/lib/x86_64-linux-gnu/" + name, lib + name)
        shutil.copy("/lib64/ld-linux-x86-64.so.2", new + "/usr/lib64/")
        sh([bindir + "python3.11", "-m", "compileall", "-q",
            new + "/usr/lib/python3.11"])
        os.rename(new, self.tools)


def unpack(archive, target):
    """An archive with one directory at its top -> directory `target`."""
    shutil.rmtree(target, ignore_errors=True)
    new = target + ".unpack"
    shutil.rmtree(new, ignore_errors=True)
    opener = zipfile.ZipFile if archive.endswith(".zip") else tarfile.open
    with opener(archive) as f:
        f.extractall(new)
    os.rename(glob.glob(new + "/*")[0], target)
    shutil.rmtree(new)


def save_text(path, text):
    """Write it compressed; -> bytes."""
    with open(path + ".new", "wb") as f:
        f.write(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    os.rename(path + ".new", path)
    return os.path.getsize(path)


class Names:
    """All names below some directories of the root, each from the run on that
    found it there: a label, and the how-manieth run of that label. What is
    removed later stays."""

    def __init__(self, root, only):
        self.root, self.only = root, only
        self.rows = {}          # relative name: (label, number, size, type)
        self.runs = collections.Counter()

    def look(self, label):
        self.runs[label] += 1
        for rel, node in fftrace.Tree(self.root, self.only).nodes.items():
            if rel not in self.rows and rel.split("/")[0] in self.only:
                self.rows[rel] = (label, self.runs[label], node.size,
                                  type_of(node))

    def save(self, directory, name):
        """Write NAME.names.xz; -> bytes."""
        text = "# %s\n# label\trun\tpath\tsize\ttype\n" % name + "".join(
            "%s\t%d\t%s\t%d\t%s\n" % (label, run, fftrace.clean(rel), size,
                                      kind)
            for rel, (label, run, size, kind) in sorted(
                self.rows.items(), key=lambda row: (row[1][:2], row[0])))
        return save_text(os.path.join(directory, name + ".names.xz"), text)


def type_of(node):
    """directory, link or file, by their first letters."""
    return "d" if node.is_dir else "f" if node.link is None else "l"


class Work:
    """One workload being recorded."""

    def __init__(self, corpus, name):
        self.corpus, self.name = corpus, name
        self.home = os.path.join(corpus.root, name)
        output = os.path.join(corpus.scratch, name + ".out")
        open(output, "w").close()
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.home)
        self.env = corpus.env(self.home)
        self.random = random.Random(name)
        self.number = 0
        self.lines = []
        self.counts = []        # (label, events, reads)
        self.names = Names(corpus.root, [name])

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def sh(self, command, cwd="."):
        return sh(command, self.path(cwd), self.env)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)

    def round(self, change):
        """The next round begins; `change` says what is different in it."""
        self.number += 1
        self.lines.append("# round %d: %s\n" % (self.number, change))

    def run(self, command, cwd=".", suffix="", may_fail=False):
        """Record one run of shell text. suffix: `@second` and the like."""
        label = self.name + suffix
        output = os.path.join(self.corpus.scratch, self.name + ".out")
        self.names.look(label)
        if self.corpus.names_only:
            events = []
            with open(output, "a") as f:
                status = subprocess.call(
                    ["bash", "-c", command], cwd=self.path(cwd), env=self.env,
                    stdin=subprocess.DEVNULL, stdout=f,
                    stderr=subprocess.STDOUT)
        else:
            events, status = fftrace.record(
                ["bash", "-c", command], self.corpus.root,
                ["tools", self.name], cwd=self.path(cwd), env=self.env,
                output=output, log=os.environ.get("FF_STRACE_LOG"))
        if status != 0 and not may_fail:
            raise RuntimeError("%s: %s: exit status %d" % (
                label, command, status))
        self.lines.extend(fftrace.format_events(self.number, label, events))
        self.counts.append((label, len(events),
                            sum(e.kind == "read" for e in events)))

    def venv(self, name, packages):
        """A virtual environment (made anew or added to) with `packages`."""
        if not os.path.isdir(self.path(name)):
            self.sh("python3 -m venv --without-pip " + name)
            self.env["PATH"] = self.path(name, "bin") + ":" + self.env["PATH"]
        sh([sys.executable, "-m", "pip", "--python",
            self.path(name, "bin/python3"), "install", "--quiet",
            "--prefer-binary"] + packages.split(), env=self.env)

    def npm(self, directory, packages):
        """npm packages in a project directory (made anew or added to)."""
        os.makedirs(self.path(directory), exist_ok=True)
        if not os.path.exists(self.path(directory, "package.json")):
            self.write(directory + "/package.json",
                       '{"name": "work", "version": "1.0.0"}\n')
        self.sh("npm install --no-audit --no-fund --loglevel=error " +
                packages, directory)

    def files(self, directory, suffixes):
        """Files of a source tree with one of these suffixes, sorted."""
        found = []
        for top, dirs, names in os.walk(self.path(directory)):
            dirs[:] = sorted(d for d in dirs if d[0] != ".")
            found += [os.path.join(top, n) for n in sorted(names)
                      if n.endswith(tuple(suffixes))]
        return found

    def touch(self, directory, suffixes, comment="# changed", share=0.05):
        """A commit's worth of changes: a line more in 5% of the files."""
        files = self.files(directory, suffixes)
        for path in self.random.sample(files, max(1, int(len(files) * share))):
            with open(path, "a") as f:
                f.write("\n%s %d\n" % (comment, self.number))

    def save(self, directory):
        size = self.names.save(directory, self.name)
        if self.corpus.names_only:
            return size
        header = ("# %s\n# run\tlabel\tt_us\tpid\tpath\tsize\texec\tkind\n"
                  % self.name)
        return size + save_text(
            os.path.join(directory, self.name + ".trace.xz"),
            header + "".join(self.lines))

    def clean(self):
        shutil.rmtree(self.home, ignore_errors=True)


def rebuild(corpus, name, directory, keep=False):
    """Record workload `name`; -> a line about it."""
    begun = time.monotonic()
    work = Work(corpus, name)
    WORKLOADS[name](work)
    size = work.save(directory)
    if not keep:
        work.clean()
    return "%-22s %3d runs %7d events %6d reads %7d bytes %5.0f s" % (
        name, len(work.counts), sum(c[1] for c in work.counts),
        sum(c[2] for c in work.counts), size, time.monotonic() - begun)
