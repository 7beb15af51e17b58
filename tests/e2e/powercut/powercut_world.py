# SPDX-License-Identifier: GPL-2.0-or-later
"""The world around the daemon of powercut.py: a server whose changes can be played
again one by one, the daemon itself, and a client that reads all there is.

The server's tree: still/ never changes, and every byte of it says where it belongs;
fodder/ is read only to take the room of other data; own/ is what the job changes.
"""
import collections
import hashlib
import os
import resource
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, d)
                for d in ("../lib", "../histories", "../../hostile")]
import histories_fs # noqa: E402
import powercut_disk as disk # noqa: E402
import memfs # noqa: E402
import nfsraw # noqa: E402
import rpc # noqa: E402
from rpc import opaque # noqa: E402
from tree import Control, each_field, field, varint # noqa: E402

SERVER_PORT, DAEMON_PORT = 20490, 20500
STATS = 17 # of control.proto
EXPORT = "/srv"
SIZES = (0, 100, 4096, 16384, 70000, 200000)
STILL, FODDER, FODDER_SIZE = 18, 14, 600000
PIECE = 65536
CRED = rpc.auth_sys(0, 0)
IN_FLIGHT = 24
READ_COUNT = 4 + 4 + 84 # status, attributes: where READ3resok says its count


def contents(name, size):
    """Every 32 bytes name file and place."""
    head = hashlib.sha256(name.encode()).digest()[:24]
    return b"".join(head + i.to_bytes(8, "big")
                    for i in range((size + 31) // 32))[:size]


def still_paths():
    return ["still/%sf%02d" % ("d/" if i % 2 else "", i)
            for i in range(STILL)]


# ---- the server ---------------------------------------------------------------

class World(memfs.MemServer):
    """`changes`: how many succeeded so far; `deltas`: what each one did."""

    def __init__(self):
        self.changes, self.deltas = 0, []
        self.read_bytes = collections.Counter() # by handle
        self.asked = 0 # what is not about data
        self.on_change = lambda number: None
        self.still = set()
        self.last = {}
        super().__init__()

    def up(self):
        # The cached data belongs to this address.
        self.port = SERVER_PORT
        super().up()

    def build(self):
        for d in ("still", "still/d", "fodder", "own"):
            self.make(d, rpc.DIR, age=7200, uid=0, mode=0o755)
        sizes = [(p, SIZES[i % len(SIZES)])
                 for i, p in enumerate(still_paths())]
        sizes += [("fodder/f%02d" % i, FODDER_SIZE) for i in range(FODDER)]
        for path, size in sizes:
            node = self.make(path, rpc.REG, contents(path, size), age=3600)
            self.still.add(node.fh)
        self.last = self.states()

    @staticmethod
    def state(node):
        return (node.kind, node.fileid, node.uid, node.mode, node.nlink,
                bytes(node.data), node.ctime, node.mtime,
                {name: child.fh for name, child in node.names.items()})

    def states(self, all_=False):
        return {fh: self.state(node) for fh, node in self.nodes.items()
                if all_ or fh not in self.still}

    def plausible(self, call):
        self.calls.clear() # they would only take room
        out = super().plausible(call)
        if call.prog != rpc.NFS or out[:4] != bytes(4):
            return out
        self.asked += call.proc in (rpc.GETATTR, rpc.LOOKUP)
        if call.proc == rpc.READ:
            self.read_bytes[call.reader().opaque()] += \
                rpc.Reader(out[READ_COUNT:]).u32()
        elif call.proc in nfsraw.CHANGES:
            self.note()
        return out

    def note(self):
        """A change has happened, and is not answered yet."""
        was, self.last = self.last, self.states()
        self.deltas.append({
            fh: self.last.get(fh) for fh in set(was) | set(self.last)
            if was.get(fh) != self.last.get(fh)})
        self.changes += 1
        self.on_change(self.changes)

    def play(self, delta):
        """Become what `delta` says; None: it is no longer there."""
        with self.cond:
            for fh, state in delta.items():
                if state is None:
                    del self.nodes[fh]
                elif fh not in self.nodes:
                    self.nodes[fh] = memfs.Node(state[0], 0, 0, 0, 0)
            for fh, state in delta.items():
                if state is not None:
                    self.become(self.nodes[fh], fh, state)

    def become(self, node, fh, state):
        (node.kind, node.fileid, node.uid, node.mode, node.nlink, data,
         node.ctime, node.mtime, names) = state
        node.fh, node.data = fh, bytearray(data)
        node.names = {name: self.nodes[h] for name, h in names.items()}

    def regular(self):
        return [node for node in self.nodes.values() if node.kind == rpc.REG]

    def load(self, states):
        self.nodes = {rpc.ROOT: self.root}
        self.play(states)
        self.still = {self.node(path).fh for path in still_paths()}


# ---- the daemon ---------------------------------------------------------------

class Daemon(histories_fs.Daemon):
    """Its cache lies on the disk under test, all else of it elsewhere."""

    def __init__(self, work, cache, mode, program):
        self.run = work + "/run"
        os.makedirs(self.run, exist_ok=True)
        self.conf, self.log = work + "/conf", work + "/daemon.log"
        self.socket, self.cache = self.run + "/control.sock", cache
        self.program, self.port, self.process = program, DAEMON_PORT, None
        with open(self.conf, "w") as f:
            f.write("[forefetch]\ncache_dir = %s\ncontrol_socket = %s\n"
                    "cache_size = 8M\nmemory_size = 16M\n"
                    "[server nas]\naddress = 127.0.0.1\nnfs_port = %d\n"
                    "mount_port = %d\nlisten = 127.0.0.1:%d\nsecure = no\n"
                    "consistency = %s\n" % (
                        cache, self.socket, SERVER_PORT, SERVER_PORT,
                        self.port, mode))
            if mode == "bounded":
                # Nothing heals by itself while the test looks.
                f.write("attr_timeout = 1h\nnegative_timeout = 1h\n")

        self.unlocked()

    @staticmethod
    def unlocked():
        """A start takes half as long where it cannot lock its memory, which is
        PR_CAPBSET_DROP of CAP_IPC_LOCK here."""
        disk.call("prctl", 24, 14, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    def kill(self):
        """Also where it has never started."""
        if self.process:
            super().kill()

    def lose_memory(self):
        """Of the machine: what lay on a tmpfs is gone as well."""
        shutil.rmtree(self.run)
        os.mkdir(self.run)
        open(self.log, "w").close()

    def ask(self, command, body=b"", answer=None):
        """By its control socket."""
        control = Control(self)
        try:
            return control.ask(command, body, answer)
        finally:
            control.close()

    def counter(self, name):
        """A counter or gauge. Not all are decoded, as there are hundreds."""
        data = self.ask(STATS)[1]
        key = field(1, name.encode()) + varint(2 << 3)
        at = data.find(key) + len(key)
        return next(each_field(varint(1 << 3) + data[at:]))[1] \
            if at >= len(key) else 0

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()


# ---- the client ---------------------------------------------------------------

def read(raw, path, first=0, count=1 << 30):
    """Through the proxy, as a program reads that opens it first."""
    fh = raw.walk(path)
    raw.call(rpc.ACCESS, rpc.access_args(fh))
    size = raw.call(rpc.GETATTR, opaque(fh))["attr"].size
    out, end = b"", min(size, first + count)
    while first + len(out) < end:
        at = first + len(out)
        part = raw.call(rpc.READ, rpc.read_args(
            fh, at, min(PIECE, end - at)))["data"]
        if not part:
            break
        out += part
    return out


class Judge:
    """Compares whatever the proxy says with what the server is."""

    def __init__(self, world, port):
        self.world, self.wrong = world, []
        self.bytes = collections.Counter() # that were served, by handle
        self.attrs = {}
        world.read_bytes.clear()
        world.asked = 0
        self.wire = nfsraw.Wire(30)
        self.link = nfsraw.Link(self.wire, "127.0.0.1", port)

    def send(self, proc, body, what, judge):
        def done(sent, at, got):
            for cause in judge(got):
                self.wrong.append("%s %s: %s" % (
                    nfsraw.PROC_NAMES[proc], what, cause))
        self.link.send(proc, body, done, CRED)
        self.wire.drain(IN_FLIGHT)

    def attr(self, node, got):
        want = self.attrs.get(node.fh)
        if want is None:
            want = nfsraw.get_fattr(rpc.Reader(node.attr()))
            self.attrs[node.fh] = want
        if got is not None and got != want:
            yield "attributes %s, should be %s" % (got, want)

    def look(self):
        """The whole tree but fodder/; names first, as a walk would."""
        nodes = []
        self.visit("", self.world.root, nodes)
        self.wire.drain()
        for path, node in nodes:
            self.contents(path, node)
        self.wire.drain()
        self.link.close()
        self.served = sum(self.bytes.values())
        # `cached`: bytes that the server was not asked for; it may have been
        # asked for more.
        self.asked = self.world.asked
        self.cached = sum(max(0, n - self.world.read_bytes[fh])
                          for fh, n in self.bytes.items())

    def visit(self, path, node, nodes):
        """Looks at an object; one that never changes is not asked for in every
        way."""
        own = path.startswith("/own")
        self.listing(path, node)
        for name in ("a", "b", "e.txt", "d1", "d2") if own else ("none",):
            if name.encode() not in node.names:
                self.absent(path, node, name)
        for name, child in sorted(node.names.items()):
            below = path + "/" + name.decode()
            self.name(below, node, name, child)
            nodes.append((below, child))
            if child.kind == rpc.DIR and below != "/fodder":
                self.visit(below, child, nodes)

    def listing(self, path, node):
        want = {name.decode(): child for name, child in node.names.items()}

        def judge(got):
            if got["st"]:
                yield "status %d" % got["st"]
                return
            yield from self.attr(node, got["dir"])
            names = {e.name: e for e in got["entries"]
                     if e.name not in (".", "..")}
            if set(names) != set(want):
                yield "names %s, should be %s" % (sorted(names), sorted(want))
            for name in set(names) & set(want):
                if names[name].fh not in (None, want[name].fh):
                    yield "handle of %s" % name
                yield from self.attr(want[name], names[name].attr)
        self.send(rpc.READDIRPLUS, rpc.readdirplus_args(
            node.fh, 0, 8192, 32768), path or "/", judge)

    def name(self, path, parent, name, child):
        def judge(got):
            if got["st"] or got["fh"] != child.fh:
                yield "status %d, handle %s" % (got["st"], got.get("fh"))
                return
            yield from self.attr(child, got["attr"])
            yield from self.attr(parent, got["dir"])
        self.send(rpc.LOOKUP, rpc.lookup_args(name, parent.fh), path, judge)

    def absent(self, path, parent, name):
        def judge(got):
            if got["st"] != rpc.NOENT:
                yield "status %d, but it is not there" % got["st"]
        self.send(rpc.LOOKUP, rpc.lookup_args(name, parent.fh),
                  "%s/%s" % (path, name), judge)

    def contents(self, path, node):
        def attributes(got):
            if got["st"]:
                yield "status %d" % got["st"]
            yield from self.attr(node, got.get("attr"))
        if node.fh not in self.world.still:
            self.send(rpc.GETATTR, opaque(node.fh), path, attributes)
            self.send(rpc.ACCESS, rpc.access_args(node.fh), path, attributes)
        if node.kind == rpc.LNK:
            def target(got):
                if got.get("target") != bytes(node.data):
                    yield "target %s" % got.get("target")
            self.send(rpc.READLINK, opaque(node.fh), path, target)
        elif node.kind == rpc.REG:
            data = bytes(node.data)
            for at in range(0, max(1, len(data)), PIECE):
                self.piece(path, node, at, data[at:at + PIECE])

    def piece(self, path, node, at, want):
        def judge(got):
            yield from self.attr(node, got["attr"])
            is_ = got.get("data", b"")
            self.bytes[node.fh] += len(is_)
            if got["st"] or is_ != want:
                bad = next((i for i, (a, b) in enumerate(zip(is_, want))
                            if a != b), min(len(is_), len(want)))
                yield "status %d, %d bytes, should be %d; differs at %d: " \
                    "%s, should be %s" % (
                        got["st"], len(is_), len(want), at + bad,
                        is_[bad:bad + 48].hex(), want[bad:bad + 48].hex())
        self.send(rpc.READ, rpc.read_args(node.fh, at, PIECE),
                  "%s at %d" % (path, at), judge)
