# SPDX-License-Identifier: GPL-2.0-or-later
"""Several users of one daemon, each with connections of its own to the control
socket; for tests that root runs."""
import contextlib
import os

import rpc
from rpc import opaque
from tree import Control, Tree, fh

ALICE, BOB = 65001, 65002


@contextlib.contextmanager
def being(uid):
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def cred(uid):
    return rpc.auth_sys(uid=uid, gid=uid)


class Users(Tree):
    size = 2048  # one READ brings all

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can be several users")
        groups = os.getgroups()
        os.setgroups([])
        self.addCleanup(os.setgroups, groups)
        super().setUp()
        os.chmod(self.ff.dir, 0o755)
        self.up.script(rpc.LOOKUP, self.lookup)
        self.client = self.connect()
        self.client.call(rpc.MNT, opaque(b"/srv"), prog=rpc.MOUNT)

    def attr(self, name):
        # As in its listings, or it would seem to change all the time.
        return rpc.fattr(rpc.DIR) if name == b"root" else super().attr(name)

    def lookup(self, call):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        return rpc.lookup_ok(fh(name), self.attr(name))

    def connection(self, uid):
        with being(uid):
            control = Control(self.ff)
        self.addCleanup(control.close)
        return control

    def user(self, uid):
        control = self.connection(uid)
        # It is accepted, and known by its uid, before the next one is.
        self.assertNotIn(-1, control.ask(16))
        return control
