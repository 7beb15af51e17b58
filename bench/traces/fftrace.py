# SPDX-License-Identifier: GPL-2.0-or-later
"""From a command to the events of its run, by way of strace.

    Tree       what was below the watched root before the run
    parse_log  strace's lines -> calls, forks and threads told apart
    Recorder   calls -> events: the first use of each file, per kind
    record     runs a command and returns its events
"""
import collections
import os
import re
import stat
import subprocess
import tempfile

Node = collections.namedtuple("Node", "size is_dir link exec script")
Call = collections.namedtuple("Call", "time tid name args result error tail")
Event = collections.namedtuple("Event", "t_us pid path size exec kind")

STAT_CALLS = {"stat", "lstat", "newfstatat", "statx", "access", "faccessat",
              "faccessat2"}
OPEN_CALLS = {"open", "openat", "openat2", "creat"}
LINK_CALLS = {"lstat", "readlink", "readlinkat", "unlink", "unlinkat",
              "rename", "renameat", "renameat2"}       # act on a link itself
MAKE_CALLS = {"mkdir", "mkdirat", "symlink", "symlinkat", "link", "linkat",
              "rename", "renameat", "renameat2"}
DROP_CALLS = {"unlink", "unlinkat", "rmdir"}
NAME_CALLS = (STAT_CALLS | OPEN_CALLS | LINK_CALLS | MAKE_CALLS | DROP_CALLS |
              {"readlink", "readlinkat", "execve", "execveat", "chdir"})
READ_CALLS = {"read", "pread64", "readv", "preadv", "preadv2", "mmap",
              "sendfile", "copy_file_range"}
FORK_CALLS = {"clone", "clone3", "fork", "vfork"}
TRACED = sorted(NAME_CALLS | READ_CALLS | FORK_CALLS |
                {"getdents64", "fchdir"})

LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)")
CALL = re.compile(r"(\w+)\((.*)\) += (0x[0-9a-f]+|-?\d+|\?)(?: (E[A-Z]+))?")
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>")
UNFINISHED = " <unfinished ...>"
FD_PATH = re.compile(r"(?:\d+|AT_FDCWD)<(/[^>]*)>")
NAME = re.compile(r'(?:(AT_FDCWD|-?\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v"}


def unescape(text):
    """A string or path as strace prints it -> as it is."""
    if "\\" not in text:
        return text

    def one(match):
        code = match.group(1)
        if code[:1] == b"x" and len(code) == 3:
            return bytes([int(code[1:], 16)])
        if code.isdigit():
            return bytes([int(code, 8) & 255])
        return LETTERS.get(code, code)
    return os.fsdecode(ESCAPE.sub(one, os.fsencode(text)))


class Tree:
    """Names below `root` as they are now; `only` limits it to subtrees.

    Directories above the subtrees are listed, but not descended elsewhere.
    """

    def __init__(self, root, only=()):
        self.root = os.path.realpath(root)
        self.top = [c for c in self.root.split("/") if c]
        self.nodes = {}
        self.listed = set()
        self.walks = {}
        only = [o.strip("/") for o in only if o.strip("/")]
        if not only:
            self._scan("", True)
        for sub in only:
            parts = sub.split("/")
            for n in range(len(parts)):
                self._scan("/".join(parts[:n]), False)
            self._scan(sub, True)

    def _scan(self, top, descend):
        todo = [top]
        while todo:
            rel = todo.pop()
            self.listed.add(rel)
            try:
                entries = list(os.scandir(os.path.join(self.root, rel)))
            except OSError:
                continue
            for entry in entries:
                path = rel + "/" + entry.name if rel else entry.name
                node = self.nodes[path] = look_at(entry)
                if descend and node.is_dir:
                    todo.append(path)

    def relative(self, path):
        """An absolute path without links -> relative to the root, or None."""
        if path == self.root:
            return ""
        if path.startswith(self.root + "/"):
            return path[len(self.root) + 1:]
        return None

    def walk(self, path, follow=True):
        """The names that resolving `path` passes below the root.

        A list of (relative name, Node). The last has None for a Node where
        the name did not exist, and is (None, None) where the path ends in a
        place that is not listed or outside.
        """
        key = (path, follow)
        if key not in self.walks:
            self.walks[key] = list(self._walk(path, follow))
        return self.walks[key]

    def _walk(self, path, follow):
        todo = path.split("/")[::-1]
        at, last, depth, links = [], [], len(self.top), 0
        while todo:
            name = todo.pop()
            if name == "..":
                del at[-1:]
            if name in ("", ".", ".."):
                continue
            at.append(name)
            if len(at) <= depth or at[:depth] != self.top:
                continue
            rel = "/".join(at[depth:])
            node = self.nodes.get(rel)
            if node is None and "/".join(at[depth:-1]) not in self.listed:
                yield None, None
                return
            yield rel, node
            if node is None:
                return
            last = list(at)
            if node.link is not None and (follow or any(todo)):
                links += 1
                if links > 40:
                    break
                at = [] if node.link.startswith("/") else at[:-1]
                todo.extend(node.link.split("/")[::-1])
        if last != at:
            yield None, None


def look_at(entry):
    """A directory entry -> Node; exec: may be executed, and ELF or #!."""
    info = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(info.st_mode):
        return Node(0, True, None, 0, None)
    if stat.S_ISLNK(info.st_mode):
        return Node(0, False, os.readlink(entry.path), 0, None)
    exec_bit, script = 0, None
    if stat.S_ISREG(info.st_mode) and info.st_mode & 0o111:
        with open(entry.path, "rb") as f:
            head = f.read(256)
        if head.startswith(b"#!"):
            words = head[2:].split(b"\n")[0].split()
            exec_bit, script = 1, os.fsdecode(words[0]) if words else None
        elif head.startswith(b"\x7fELF"):
            exec_bit = 1
    return Node(info.st_size, False, None, exec_bit, script)


def parse_log(lines):
    """strace -f -ttt -y lines -> list of Call, in the order they began."""
    calls, open_calls = [], {}
    for line in lines:
        match = LINE.match(line.rstrip("\n"))
        if not match:
            continue
        tid, time, text = int(match.group(1)), match.group(2), match.group(3)
        if text.endswith(UNFINISHED):
            open_calls[tid] = (time, text[:-len(UNFINISHED)])
            continue
        resumed = RESUMED.match(text)
        if resumed:
            if tid not in open_calls:
                continue
            time, begun = open_calls.pop(tid)
            text = begun + text[resumed.end():]
        match = CALL.match(text)
        if match and match.group(3) != "?":
            name, args, result, error = match.groups()
            calls.append(Call(float(time), tid, name, args,
                              int(result, 0), error, text[match.end(3):]))
    calls.sort(key=lambda call: call.time)
    return calls


class Recorder:
    """Turns calls into events. What a run wrote itself makes no events: its
    client has that in its own cache."""

    def __init__(self, tree, cwd="/", start=None):
        self.tree = tree
        self.cwd = collections.defaultdict(lambda: cwd)
        self.start = start
        self.process = {}       # thread -> process
        self.numbers = {}       # process -> 1, 2, ... as they appear
        self.own = set()        # written, made, renamed or removed by the run
        self.seen = set()
        self.events = []

    def feed(self, call):
        if self.start is None:
            self.start = call.time
        if call.name in FORK_CALLS:
            self._fork(call)
        elif call.name in READ_CALLS:
            self._read(call)
        elif call.name == "getdents64":
            self._readdir(call)
        elif call.name == "fchdir":
            match = FD_PATH.search(call.args)
            if match and call.result == 0:
                self.cwd[self._pid(call)] = unescape(match.group(1))
        elif call.name in NAME_CALLS:
            self._name(call)

    def _pid(self, call):
        return self.process.get(call.tid, call.tid)

    def _emit(self, call, kind, rel, node):
        if (kind, rel) in self.seen:
            return
        self.seen.add((kind, rel))
        pid = self.numbers.setdefault(self._pid(call), len(self.numbers) + 1)
        self.events.append(Event(
            max(0, round((call.time - self.start) * 1e6)), pid, rel or ".",
            node.size if node else 0, node.exec if node else 0, kind))

    def _fork(self, call):
        if call.result <= 0:
            return
        parent = self._pid(call)
        if "CLONE_THREAD" in call.args:
            self.process[call.result] = parent
        else:
            self.process[call.result] = call.result
            self.cwd[call.result] = self.cwd[parent]

    def _read(self, call):
        if call.result <= 0 or "</" not in call.args:
            return
        paths = FD_PATH.findall(call.args)
        path = paths[-1] if call.name == "sendfile" else paths[0]
        self._read_path(call, self.tree.relative(unescape(path)))

    def _read_path(self, call, rel):
        node = self.tree.nodes.get(rel)
        if node and node.size and not node.is_dir and rel not in self.own:
            self._emit(call, "read", rel, node)

    def _readdir(self, call):
        match = FD_PATH.search(call.args)
        if not match or call.result < 0:
            return
        rel = self.tree.relative(unescape(match.group(1)))
        if rel in self.tree.listed and rel not in self.own:
            self._emit(call, "readdir", rel, None)

    def _paths(self, call):
        """The absolute paths that a call names; remembers AT_FDCWD's."""
        pid, paths = self._pid(call), []
        for fd, where, name in NAME.findall(call.args):
            where, name = unescape(where), unescape(name)
            if fd == "AT_FDCWD" and where:
                self.cwd[pid] = where
            if not name:                        # AT_EMPTY_PATH: no name
                continue
            if not name.startswith("/"):
                name = (where or self.cwd[pid]) + "/" + name
            paths.append(name)
            if call.name.startswith("exec"):    # the rest are arguments
                break
        if call.name.startswith("symlink"):     # the target is only text
            paths = paths[-1:]
        return paths

    def _name(self, call):
        follow = call.name not in LINK_CALLS and \
            "SYMLINK_NOFOLLOW" not in call.args and \
            "O_NOFOLLOW" not in call.args
        paths = self._paths(call)
        for path in paths:
            steps = self.tree.walk(path, follow)
            for rel, node in steps:
                if node:
                    self._emit(call, "lookup", rel, node)
                elif rel and call.error == "ENOENT" and rel not in self.own:
                    self._emit(call, "absent", rel, None)
            if steps and steps[-1][0] and call.result >= 0:
                self._done(call, path, *steps[-1])
        if call.name == "chdir" and call.result == 0 and paths:
            self.cwd[self._pid(call)] = os.path.normpath(paths[0])
        if paths and call.result >= 0 and call.name in MAKE_CALLS:
            self._mark_own(paths[-1])
        if paths and call.name.startswith("rename") and call.result == 0:
            self._mark_own(paths[0])

    def _done(self, call, path, rel, node):
        """A call that succeeded on the existing or new name `rel`."""
        if call.name in STAT_CALLS and node and rel not in self.own:
            self._emit(call, "getattr", rel, node)
        elif call.name in OPEN_CALLS:
            if node is None or "O_TRUNC" in call.args or call.name == "creat":
                self.own.add(rel)
        elif call.name in DROP_CALLS:
            self.own.add(rel)
        elif call.name.startswith("execve"):
            self._read_path(call, rel)
            if node and node.script:
                for name, interpreter in self.tree.walk(node.script):
                    if interpreter:
                        self._emit(call, "lookup", name, interpreter)
                        self._read_path(call, name)

    def _mark_own(self, path):
        steps = self.tree.walk(path, False)
        if steps and steps[-1][0]:
            self.own.add(steps[-1][0])


def record(command, root, only=(), cwd=None, env=None, log=None, output=None):
    """Run `command` (a list) under strace; -> (events, exit status).

    log: keep strace's output in this file. output: the command's output is
    appended to this file; it reads nothing then.
    """
    tree = Tree(root, only)
    keep = log is not None
    if not keep:
        fd, log = tempfile.mkstemp(prefix="fftrace.")
        os.close(fd)
    streams = {}
    if output is not None:
        streams = {"stdin": subprocess.DEVNULL, "stdout": open(output, "a"),
                   "stderr": subprocess.STDOUT}
    try:
        status = subprocess.call(
            ["strace", "-f", "--seccomp-bpf", "-y", "-ttt", "-s", "0",
             "-qq", "-e", "signal=none", "-e", "trace=" + ",".join(TRACED),
             "-o", log, "--"] + list(command), cwd=cwd, env=env,
            **streams)
        with open(log, errors="surrogateescape") as lines:
            calls = parse_log(lines)
    finally:
        if not keep:
            os.unlink(log)
    recorder = Recorder(tree, os.path.realpath(cwd or os.getcwd()))
    for call in calls:
        recorder.feed(call)
    return recorder.events, status


def clean(path):
    """A path for the trace: a tab, line break or backslash is escaped."""
    for char, escape in ("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"):
        path = path.replace(char, escape)
    return os.fsencode(path).decode("utf-8", "replace")


def format_events(run, label, events):
    """Events -> lines of the text format."""
    for e in events:
        line = "%d\t%s\t%d\t%d\t%s\t%d\t%d" % (
            run, label, e.t_us, e.pid, clean(e.path), e.size, e.exec)
        yield line + ("\n" if e.kind == "read" else "\t%s\n" % e.kind)
