# SPDX-License-Identifier: GPL-2.0-or-later
"""histories.py works with these: forefetchd, the server's side (Disk: an export
of knfsd's; Memory: a server of our own), and a client: by raw calls (Raw) or by a
kernel mount (Mounted).

A client has a method for each kind of change, by paths below its top; each
raises OSError where it is refused.  tree() is what is there, as it is told
without any cache of a client's.
"""
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import nfsraw # noqa: E402
import fakeserver # noqa: E402
import memfs # noqa: E402
import rpc # noqa: E402
from rpc import opaque # noqa: E402

ROOT_CRED = rpc.auth_sys(0, 0)
ERRNO = {66: errno.ENOTEMPTY, 70: errno.ESTALE}
KINDS = {stat.S_IFDIR: "d", stat.S_IFREG: "f", stat.S_IFLNK: "l"}


def poll(condition, what, bound=30):
    end = time.monotonic() + bound
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s" % (bound, what))
        time.sleep(0.005)


class Daemon:
    def __init__(self, side, where, mode, program):
        self.conf, self.cache = where + "/conf", where + "/cache"
        self.names = self.cache + "/nas/names"
        self.program, self.log = program, where + "/log"
        self.process, self.port = None, fakeserver.free_port()
        os.makedirs(where, exist_ok=True)
        with open(self.conf, "w") as f:
            f.write("[forefetch]\ncache_dir = %s\ncontrol_socket = %s/sock\n"
                    "[server nas]\naddress = %s\nnfs_port = %d\n"
                    "mount_port = %d\nlisten = 127.0.0.1:%d\nsecure = no\n"
                    "consistency = %s\n" % (
                        self.cache, where, *side.address, self.port, mode))
            if mode == "bounded":
                # Nothing heals by itself while the test looks.
                f.write("attr_timeout = 1h\nnegative_timeout = 1h\n")

    def forget(self):
        subprocess.run(["rm", "-rf", self.cache], check=True)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "-F", "-f", self.conf], stdout=log, stderr=log)
        poll(self.listens, "forefetchd listens")

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("forefetchd ended with %d: %s" % (
                self.process.returncode, self.log))
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except ConnectionRefusedError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            raise AssertionError("forefetchd ended badly: " + self.log)

    def saved(self):
        """Wait until it has written its names, if it has any to write."""
        def stamp():
            try:
                return os.stat(self.names).st_mtime_ns
            except FileNotFoundError:
                return 0
        was, end = stamp(), time.monotonic() + 5
        while stamp() == was and time.monotonic() < end:
            time.sleep(0.02)


def os_tree(top):
    """path -> (kind, mode, nlink, size, contents or names or target)"""
    out, todo = {}, [""]
    while todo:
        path = todo.pop()
        full = top + "/" + path
        st = os.lstat(full)
        kind = KINDS[stat.S_IFMT(st.st_mode)]
        if kind == "d":
            what, size = tuple(sorted(os.listdir(full))), 0
            todo += [path + "/" + name if path else name for name in what]
        elif kind == "l":
            what, size = os.readlink(full).encode(), st.st_size
        else:
            with open(full, "rb") as f:
                what, size = f.read(), st.st_size
        out[path] = (kind, st.st_mode & 0o7777, st.st_nlink, size, what)
    return out


class Disk:
    """The files that knfsd exports, seen without it."""

    def __init__(self, address, export):
        self.address, self.export = (address, 2049, 20048), export

    def make(self, name):
        path = self.export + "/" + name
        os.mkdir(path)
        os.chmod(path, 0o755)

    def tree(self, name):
        return os_tree(self.export + "/" + name)

    def identity(self, name, path):
        return os.lstat("%s/%s/%s" % (self.export, name, path)).st_ino


class Memory:
    """A server in this process."""
    export = "/"

    def __init__(self):
        self.up = memfs.MemServer()
        self.address = "127.0.0.1", self.up.port, self.up.port

    def make(self, name):
        self.up.make(name, rpc.DIR, uid=0, mode=0o755)

    def tree(self, name):
        with self.up.cond:
            return self.visit("", self.up.node(name), {})

    def visit(self, path, node, out):
        kind = {rpc.DIR: "d", rpc.REG: "f", rpc.LNK: "l"}[node.kind]
        what, size = bytes(node.data), len(node.data)
        if kind == "d":
            what, size = tuple(sorted(n.decode() for n in node.names)), 0
            for name in what:
                self.visit(path + "/" + name if path else name,
                           node.names[name.encode()], out)
        out[path] = (kind, node.mode, node.nlink, size, what)
        return out

    def identity(self, name, path):
        return self.up.node(name + "/" + path if path else name).fileid


class Mounted:
    """The kernel's client.  Its own caches are off or dropped."""
    kind = "mount"

    def __init__(self, port, export, name):
        self.port, self.export, self.name = port, export, name
        self.point = "/mnt/histories"

    def mount(self):
        os.makedirs(self.point, exist_ok=True)
        subprocess.run(
            ["mount", "-t", "nfs", "-o", "vers=3,nolock,tcp,port=%d,"
             "mountport=%d,mountproto=tcp,noac,lookupcache=none" % (
                 self.port, self.port),
             "127.0.0.1:" + self.export, self.point], check=True)

    def unmount(self):
        subprocess.run(["umount", self.point], check=True)

    def connect(self):
        """The kernel does."""

    def drop(self):
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")

    def path(self, path):
        return "%s/%s/%s" % (self.point, self.name, path)

    def tree(self, absent):
        self.drop()
        out = os_tree(self.path("")[:-1])
        for path in absent:
            if os.path.lexists(self.path(path)):
                out[path] = "there, but in no listing"
        return out

    def fill(self, path, data, flags):
        fd = os.open(self.path(path), os.O_WRONLY | flags, 0o644)
        try:
            os.write(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)

    def create(self, path):
        self.fill(path, b"", os.O_CREAT | os.O_EXCL)

    def append(self, path, data):
        self.fill(path, data, os.O_APPEND)

    def write(self, path, data):
        self.fill(path, data, 0)

    def truncate(self, path, size):
        os.truncate(self.path(path), size)

    def chmod(self, path, mode):
        os.chmod(self.path(path), mode)

    def mkdir(self, path):
        os.mkdir(self.path(path), 0o755)

    def rmdir(self, path):
        os.rmdir(self.path(path))

    def unlink(self, path):
        os.unlink(self.path(path))

    def rename(self, path, new):
        os.rename(self.path(path), self.path(new))

    def link(self, path, new):
        os.link(self.path(path), self.path(new))

    def symlink(self, path, target):
        os.symlink(target, self.path(path))


class Raw:
    """NFS calls, each walk from the top, so that the proxy answers for every
    name on the way."""
    kind = "raw"

    def __init__(self, port, export, name):
        self.port, self.export, self.name = port, export, name
        self.link_ = None

    def mount(self):
        root = nfsraw.mount("127.0.0.1", self.port, self.export)
        self.connect()
        self.top = self.lookup(root, self.name)

    def unmount(self):
        pass

    def connect(self):
        self.wire = nfsraw.Wire()
        self.link_ = nfsraw.Link(self.wire, "127.0.0.1", self.port)

    def call(self, proc, body):
        r = self.link_.call(proc, body, ROOT_CRED)[2]
        if r["st"]:
            raise OSError(ERRNO.get(r["st"], r["st"]), nfsraw.PROC_NAMES[proc])
        return r

    def lookup(self, fh, name):
        return self.call(rpc.LOOKUP, rpc.lookup_args(name, fh))["fh"]

    def walk(self, path):
        at = self.top
        for name in path.split("/") if path else ():
            at = self.lookup(at, name)
        return at

    def where(self, path):
        """Arguments that say directory and name."""
        head, _, name = path.rpartition("/")
        return rpc.dirop(name, self.walk(head))

    # ---- looking

    def tree(self, absent):
        out = {}
        self.visit("", self.top, out)
        for path in absent:
            try:
                self.walk(path)
                out[path] = "there, but in no listing"
            except OSError as e:
                if e.errno not in (errno.ENOENT, errno.ENOTDIR):
                    raise
        return out

    def visit(self, path, fh, out):
        a = self.call(rpc.GETATTR, opaque(fh))["attr"]
        kind = {rpc.DIR: "d", rpc.REG: "f", rpc.LNK: "l"}[a.type]
        self.call(rpc.ACCESS, rpc.access_args(fh))
        size = a.size
        if kind == "d":
            names, size = self.list(fh), 0
            what = tuple(sorted(names))
            for name in what:
                self.visit(path + "/" + name if path else name,
                           self.lookup(fh, name), out)
        elif kind == "l":
            what = self.call(rpc.READLINK, opaque(fh))["target"]
        else:
            what = self.call(rpc.READ, rpc.read_args(fh, 0, 65536))["data"]
        out[path] = (kind, a.mode & 0o7777, a.nlink, size, what)

    def list(self, fh):
        r = self.call(rpc.READDIRPLUS, rpc.readdirplus_args(fh, 0, 8192, 32768))
        assert r["eof"]
        return [e.name for e in r["entries"] if e.name not in (".", "..")]

    # ---- changing; `send` gives procedure and arguments alone

    def change(self, what, path, *args):
        proc, body = getattr(self, "args_" + what)(path, *args)
        self.call(proc, body)

    def send(self, what, path, *args):
        """Without waiting for the reply."""
        proc, body = getattr(self, "args_" + what)(path, *args)
        self.link_.send(proc, body, lambda *a: None, ROOT_CRED)

    def args_create(self, path):
        return rpc.CREATE, self.where(path) + rpc.u32(1) + rpc.sattr(0o644)

    def args_append(self, path, data):
        fh = self.walk(path)
        size = self.call(rpc.GETATTR, opaque(fh))["attr"].size
        return rpc.WRITE, rpc.write_args(data, fh, size)

    def args_write(self, path, data):
        return rpc.WRITE, rpc.write_args(data, self.walk(path), 0)

    def args_truncate(self, path, size):
        return rpc.SETATTR, rpc.setattr_args(
            self.walk(path), rpc.sattr(size=size))

    def args_chmod(self, path, mode):
        return rpc.SETATTR, rpc.setattr_args(
            self.walk(path), rpc.sattr(mode=mode))

    def args_mkdir(self, path):
        return rpc.MKDIR, self.where(path) + rpc.sattr(0o755)

    def args_rmdir(self, path):
        return rpc.RMDIR, self.where(path)

    def args_unlink(self, path):
        return rpc.REMOVE, self.where(path)

    def args_rename(self, path, new):
        return rpc.RENAME, self.where(path) + self.where(new)

    def args_link(self, path, new):
        return rpc.LINK, opaque(self.walk(path)) + self.where(new)

    def args_symlink(self, path, target):
        return rpc.SYMLINK, self.where(path) + rpc.sattr(0o777) + \
            opaque(target)


def change(fs, what, *args):
    """0, or the errno."""
    try:
        if isinstance(fs, Raw):
            fs.change(what, *args)
        else:
            getattr(fs, what)(*args)
        return 0
    except OSError as e:
        return e.errno
