# SPDX-License-Identifier: GPL-2.0-or-later
"""`offline = serve`: when a server counts as away, and when as slow only."""
import time

import daemon
import rpc
from case_change import ChangeCase, HOUR
from fakeserver import HOLD
from rpc import opaque, u32, u64


class Away(daemon.Case):
    settings = {"offline": "serve", "prefetch": "off"}

    def away(self):
        return self.ff.control("status")["offline_active"]

    def test_slow_read_gets_its_data(self):
        """The server's disk spins up: it holds a READ, but answers NULL."""
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
        c = self.connect(timeout=60)
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.READ)
        # By now it would have been away twice over.
        self.up.wait(rpc.NULL, 7, timeout=30)
        self.assertFalse(self.away())
        held[0].reply(rpc.read_ok(rpc.pattern(0, 64)))
        reply = c.recv()
        self.assertEqual(rpc.status(reply), 0)
        self.assertIn(rpc.pattern(0, 64), reply.body)
        self.assertEqual(self.ff.lines("cannot be reached"), [])

    def test_dead_server_is_away(self):
        """It takes calls and answers nothing at all, then comes back."""
        held = []
        for proc in (rpc.NULL, rpc.READ):
            self.up.script(proc, lambda call: held.append(call) or HOLD)
        c = self.connect(timeout=60)
        c.send(rpc.READ, rpc.read_args(count=64))
        self.assertEqual(rpc.status(c.recv()), rpc.IO)
        self.assertEqual(len(self.up.seen(rpc.NULL)), 1)
        self.assertTrue(self.away())
        self.up.script(rpc.READ, None)
        for call in held:
            call.reply(b"" if call.proc == rpc.NULL else
                       rpc.read_ok(rpc.pattern(0, 64)))
        daemon.poll(lambda: not self.away(), "it is back")
        self.bystander()

    def test_dies_after_an_answer(self):
        """Bytes that came while a call waited do not speak for ever."""
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
        c = self.connect(timeout=60)
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.NULL, 2, timeout=30)
        self.up.script(rpc.NULL, lambda call: held.append(call) or HOLD)
        self.assertEqual(rpc.status(c.recv()), rpc.IO)
        self.assertTrue(self.away())

    def test_nobody_waits_for_a_change_in_doubt(self):
        """It is kept for its client for minutes, and nothing is asked."""
        self.up.script(rpc.MKDIR, HOLD)
        c = self.connect()
        c.send(rpc.MKDIR, rpc.mkdir_args("d"))
        self.up.wait(rpc.MKDIR)
        c.abort()
        self.ff.clients(0)
        failures = self.ff.counter("upstream_connect_failures")
        self.up.down()
        daemon.poll(lambda: self.ff.counter("upstream_connect_failures") >
                    failures, "it is refused")
        self.up.up()
        daemon.poll(lambda: not self.away() and self.up.conns, "it is back")
        time.sleep(1.5)
        before = len(self.up.seen(rpc.NULL))
        time.sleep(4)
        self.assertEqual(len(self.up.seen(rpc.NULL)), before)
        self.assertEqual(len(self.up.seen(rpc.MKDIR)), 1)

    def test_commit_waits(self):
        """A client that is told that it failed drops what it has written:
        one that came before the server went away, and one after."""
        self.up.down()
        verifier = b"verifier"
        commit = opaque(rpc.ROOT) + u64(0) + u32(0)
        early, late, reader = (self.connect(timeout=60) for _ in range(3))
        early.send(rpc.COMMIT, commit)
        reader.send(rpc.READ, rpc.read_args(count=64))
        self.assertEqual(rpc.status(reader.recv()), rpc.IO)
        self.assertTrue(self.away())
        late.send(rpc.COMMIT, commit)
        self.up.script(rpc.COMMIT, u32(0) + rpc.NO_WCC + verifier)
        self.up.up()
        for client in early, late:
            reply = client.recv()
            self.assertEqual(rpc.status(reply), 0)
            self.assertTrue(reply.body.endswith(verifier))

    def test_refused_server_is_away(self):
        self.up.down()
        c = self.connect(timeout=60)
        c.send(rpc.READ, rpc.read_args(count=64))
        self.assertEqual(rpc.status(c.recv()), rpc.IO)
        self.assertTrue(self.away())
        self.up.up()
        daemon.poll(lambda: not self.away(), "it is back")


class NewFile(ChangeCase):
    """open(O_CREAT) asks for the name first: where the daemon knows that it is
    not there, CREATE follows, and waits; elsewhere the name cannot be known."""
    settings = {"offline": "serve", "connections": 1, "prefetch": "off"}

    def test_new_file(self):
        self.up.make("listed", rpc.DIR, age=HOUR)
        self.up.make("listed/old", rpc.REG, age=HOUR)
        self.up.make("other", rpc.DIR, age=HOUR)
        self.enter()
        listed, other = self.lookup("listed"), self.lookup("other")
        for fh in listed, other:
            self.enter(fh)
        self.assertEqual(self.names(listed), {"old"})
        self.away()
        self.assertEqual(self.lookup("new", listed), rpc.NOENT)
        self.assertEqual(self.lookup("new", other), rpc.IO)
        create = rpc.CREATE, rpc.create_args("new", listed)
        self.client.send(*create)
        self.bystander_is_told(other)
        self.up.up()
        self.assertEqual(rpc.status(self.reply_to(*create)), 0)
        self.assertIsNotNone(self.up.node("listed/new"))

    def test_default_acl(self):
        """Linux asks for a directory's before it makes something there; who
        lists it asks for the other one, too."""
        self.up.make("other", rpc.DIR, age=HOUR)
        self.enter()
        other = self.lookup("other")
        self.enter(other)
        self.away()
        default = 1, rpc.opaque(other) + rpc.u32(0xc)
        self.client.send(*default, prog=rpc.ACL)
        with self.ff.connect() as c:
            self.assertEqual(c.nfs(1, rpc.opaque(other) + rpc.u32(0xf),
                                   prog=rpc.ACL)[0], rpc.IO)
        self.bystander_is_told(other)
        self.up.up()
        # The server of this test has no ACLs.
        self.assertRpcError(self.reply_to(*default, prog=rpc.ACL),
                            rpc.PROC_UNAVAIL)

    def away(self):
        self.client.timeout = 60
        self.up.down()
        daemon.poll(lambda: self.ff.control("status")["offline_active"],
                    "it is away", 30)

    def reply_to(self, *call, **kw):
        """A client whose change waited for two seconds is asked again, by the
        end of its connection."""
        try:
            return self.client.recv()
        except rpc.Closed:
            with self.ff.connect() as c:
                c.timeout = 60
                return c.call(*call, **kw)

    def bystander_is_told(self, fh):
        """Meanwhile the CREATE waits, and nobody else does."""
        with self.ff.connect() as c:
            self.assertEqual(c.nfs(rpc.LOOKUP, rpc.lookup_args("x", fh))[0],
                             rpc.IO)
        self.assertEqual(len(self.up.seen(rpc.CREATE)), 0)


if __name__ == "__main__":
    daemon.main()
