# SPDX-License-Identifier: GPL-2.0-or-later
"""prefetch_users.py --direct H:P --mount H:P --proxy H:P STEP EXPORT: prefetch
for one user gives another nothing.

Steps: make (EXPORT is the server's directory); train (root and the owner read
everything, several times); after (a stranger reads what root has just read);
beside (… while root reads it); alone (the stranger only).  All but `make` are
a raw client's, who has all handles, since a handle gives no right; each answer
is compared with what the server gives that user.
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import nfsraw # noqa: E402
from nfsraw import rpc # noqa: E402

OWNER, STRANGER = 1000, 1001
TOP = "prefetch-users"
WHO = {"root": rpc.auth_sys(0, 0), "owner": rpc.auth_sys(OWNER, OWNER),
       "stranger": rpc.auth_sys(STRANGER, STRANGER)}
FILES = 6


def tree():
    """Directories with owner and mode, and the same of their files."""
    yield "root", 0, 0o700, [(0, 0o600)]
    yield "owner", OWNER, 0o700, [(OWNER, 0o600)]
    yield "mixed", 0, 0o755, [(0, 0o600), (OWNER, 0o600), (0, 0o644)]


def make(export):
    top = os.path.join(export, TOP)
    os.mkdir(top, 0o755)
    for name, uid, mode, files in tree():
        d = os.path.join(top, name)
        os.mkdir(d)
        for i in range(FILES):
            path = os.path.join(d, "f%d" % i)
            with open(path, "w") as f:
                f.write("secret of %s\n" % path * 50)
            os.chmod(path, files[i % len(files)][1])
            os.chown(path, files[i % len(files)][0], 0)
        os.chmod(d, mode)
        os.chown(d, uid, 0)


class Client:
    def __init__(self, opt):
        self.wire = nfsraw.Wire()
        self.direct = nfsraw.Link(self.wire, *opt.direct)
        self.proxy = nfsraw.Link(self.wire, *opt.proxy)
        self.export = nfsraw.mount(*opt.mount, opt.export)
        self.handles = {}
        top = self.learn(self.export, TOP, "")
        for name, _, _, _ in tree():
            d = self.learn(top, name, name)
            for i in range(FILES):
                self.learn(d, "f%d" % i, "%s/f%d" % (name, i))

    def learn(self, directory, name, path):
        r = self.direct.call(rpc.LOOKUP, rpc.dirop(name, directory),
                             WHO["root"])[2]
        self.handles[path] = r["fh"]
        return r["fh"]

    def asked(self):
        top = self.handles[""]
        for name, _, _, _ in tree():
            d = self.handles[name]
            yield name, rpc.LOOKUP, rpc.dirop(name, top)
            yield name, rpc.ACCESS, rpc.access_args(d, 0x3f)
            for i in range(FILES):
                leaf = "f%d" % i
                path = "%s/%s" % (name, leaf)
                fh = self.handles[path]
                yield path, rpc.LOOKUP, rpc.dirop(leaf, d)
                yield path, rpc.ACCESS, rpc.access_args(fh, 0x3f)
                yield path, rpc.READ, rpc.read_args(fh, 0, 4096)
            yield name, rpc.READDIRPLUS, rpc.readdirplus_args(d)

    def job(self, link, who):
        """Returns what each call gave: status, rights, data, names."""
        out = []
        for path, proc, body in self.asked():
            r = link.call(proc, body, WHO[who])[2]
            names = sorted(e.name for e in r.get("entries", ()))
            out.append((path, nfsraw.PROC_NAMES[proc], r["st"],
                        r.get("mask"), r.get("data"), names))
        return out


def compare(client, who):
    """How many of the answers were refusals."""
    want = client.job(client.direct, who)
    got = client.job(client.proxy, who)
    wrong = ["%s: server %s, proxy %s" % (who, w, g)
             for w, g in zip(want, got) if w != g]
    if wrong:
        sys.exit("\n".join(wrong))
    return sum(w[2] == rpc.ACCES or w[3] == 0 for w in want)


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main():
    p = argparse.ArgumentParser()
    for name in ("direct", "mount", "proxy"):
        p.add_argument("--" + name, type=endpoint)
    p.add_argument("step")
    p.add_argument("export")
    opt = p.parse_args()
    if opt.step == "make":
        make(opt.export)
        return
    client = Client(opt)
    if opt.step == "train":
        for who in ("root", "owner") * 3:
            client.job(client.proxy, who)
        return
    if opt.step == "root":
        for _ in range(3):
            client.job(client.proxy, "root")
        return
    other = None
    if opt.step == "after":
        client.job(client.proxy, "root")
    elif opt.step == "beside":
        words = sys.argv[:]
        words[words.index("beside")] = "root"
        other = subprocess.Popen([sys.executable] + words)
    refused = compare(client, "stranger")
    if other and other.wait():
        sys.exit("root's job failed")
    if not refused:
        sys.exit("nothing was refused")
    print("%d refusals" % refused)


main()
