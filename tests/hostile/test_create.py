#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exclusive creates: a client asks for guarded ones instead, and gets no file
that is another's, whatever it makes of that."""

import daemon
import rpc

UNCHECKED, GUARDED, EXCLUSIVE = range(3)
VERF = b"verifier"


class Creates(daemon.Case):
    def setUp(self):
        super().setUp()
        self.client = self.connect()

    def create(self, name, mode, client=None):
        status, _ = (client or self.client).nfs(
            rpc.CREATE, rpc.create_args(name, mode=mode, verf=VERF))
        return status

    def modes(self):
        """Of the calls that the server has seen."""
        out = []
        for call in self.up.seen(rpc.CREATE):
            r = call.reader()
            r.opaque()
            r.opaque()
            out.append(r.u32())
        return out


class Guarded(Creates):
    def test_asked_again(self):
        """As Linux does."""
        for name in (b"a", b"b", b"c"):
            self.assertEqual(self.create(name, EXCLUSIVE), rpc.NOTSUPP)
            self.assertEqual(self.create(name, GUARDED), 0)
        self.assertEqual(self.modes(), [GUARDED] * 3)

    def test_name_is_taken(self):
        self.up.make(b"lock", rpc.REG)
        self.assertEqual(self.create(b"lock", EXCLUSIVE), rpc.NOTSUPP)
        self.assertEqual(self.create(b"lock", GUARDED), rpc.EXIST)

    def test_client_that_forgets(self):
        """A file that it asks for without a guard gets one; and it is refused
        no more."""
        self.up.make(b"lock", rpc.REG)
        self.assertEqual(self.create(b"lock", EXCLUSIVE), rpc.NOTSUPP)
        self.assertEqual(self.create(b"lock", UNCHECKED), rpc.EXIST)
        self.assertEqual(self.create(b"new", EXCLUSIVE), 0)
        self.assertEqual(self.create(b"b", UNCHECKED), 0)
        self.assertEqual(self.modes(), [GUARDED, EXCLUSIVE, UNCHECKED])
        self.assertEqual(len(self.ff.lines("exclusive create")), 1)

    def test_one_on_trial(self):
        """Another one before the first is asked for again."""
        self.assertEqual(self.create(b"a", EXCLUSIVE), rpc.NOTSUPP)
        self.assertEqual(self.create(b"b", EXCLUSIVE), 0)
        self.assertEqual(self.create(b"c", UNCHECKED), 0)
        self.assertEqual(self.create(b"a", GUARDED), 0)
        self.assertEqual(self.create(b"d", EXCLUSIVE), rpc.NOTSUPP)
        self.assertEqual(self.modes(), [EXCLUSIVE, UNCHECKED, GUARDED])

    def test_each_connection(self):
        """One connection's kind says nothing of another's."""
        self.assertEqual(self.create(b"a", EXCLUSIVE), rpc.NOTSUPP)
        self.assertEqual(self.create(b"a", UNCHECKED), 0)
        other = self.connect()
        self.assertEqual(self.create(b"b", EXCLUSIVE, other), rpc.NOTSUPP)
        self.assertEqual(self.create(b"b", GUARDED, other), 0)


class Verified(Creates):
    settings = {"exclusive_create": "verified"}

    def test_as_it_is(self):
        self.assertEqual(self.create(b"a", EXCLUSIVE), 0)
        self.assertEqual(self.modes(), [EXCLUSIVE])


if __name__ == "__main__":
    daemon.main()
