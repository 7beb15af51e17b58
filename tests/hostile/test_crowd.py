# SPDX-License-Identifier: GPL-2.0-or-later
"""Many connections: those that do nothing, and those that take nothing."""
import select

import daemon
import rpc
from fakeserver import HOLD

MAX = 256  # SERVER_CONNECTIONS_MAX
LIMIT = 16 << 20  # with the smallest memory_size


class Idle(daemon.Case):
    settings = {"prefetch": "off"}

    def test_idle_connections_make_room(self):
        """300 that never call: the next one works, and so do all that did."""
        users = [self.connect() for _ in range(4)]
        for c in users:
            c.call(rpc.NULL)
        for _ in range(300):
            self.connect()
        self.bystander()
        for c in users:
            c.call(rpc.NULL)
        self.assertGreaterEqual(self.ff.counter("connections_closed_idle"), 49)
        self.assertEqual(self.ff.counter("connections_refused_limit"), 0)
        self.assertTrue(self.ff.lines("idle, and there are too many connections"))

    def test_used_connections_stay(self):
        """Those of clients that called a moment ago are not closed."""
        # The connection that start() made to see whether the daemon listens
        # must not count as one of these.
        self.ff.clients(0)
        held = []
        self.up.script(rpc.READ, lambda call: held.append(call) or HOLD)
        users = [self.connect() for _ in range(MAX)]
        for i, c in enumerate(users):
            if i % 2:
                c.call(rpc.NULL)
            else:
                c.send(rpc.READ, rpc.read_args(count=64, offset=8 * i))
        self.up.wait(rpc.READ, MAX // 2)
        with self.ff.connect() as c:
            self.assertTrue(c.is_closed())
        self.ff.counted("connections_refused_limit", 1)
        self.assertTrue(self.ff.lines("warn", "refused", "too many"))
        for call in held:
            call.reply(rpc.read_ok(rpc.pattern(0, 64)))
        for i, c in enumerate(users):
            if i % 2:
                c.call(rpc.NULL)
            else:
                self.assertEqual(rpc.status(c.recv()), 0)
        self.assertEqual(self.ff.counter("connections_closed_idle"), 0)


class Greedy(daemon.Case):
    """All clients together may hold only so much."""
    settings = {"prefetch": "off", "consistency": "strict",
                "daemon": {"memory_size": "64M"}}
    CLIENTS, CALLS, SIZE = 24, 40, 256 << 10

    def setUp(self):
        super().setUp()
        body = bytes(self.SIZE)
        self.up.script(rpc.READ, lambda call: rpc.read_ok(
            body if rpc.Reader(call.body[20:]).u64() == 0 else
            rpc.pattern(0, 64)))

    def greedy(self):
        c = self.connect(rcvbuf=4096)
        for i in range(self.CALLS):
            c.send(rpc.READ, rpc.opaque(b"a-file-of-16-byt") +
                   rpc.u64(0) + rpc.u32(self.SIZE))
        return c

    def held(self):
        return self.ff.control("status")["clients_bytes"]

    def settled(self):
        """Returns what they hold when nothing comes and goes any more."""
        last = None
        while last is None or last != len(self.up.seen(rpc.READ)):
            last = len(self.up.seen(rpc.READ))
            with self.ff.connect() as c:
                for _ in range(50):
                    c.call(rpc.NULL)
            daemon.poll(lambda: not any(
                up["in_flight"] + up["queued"]
                for up in self.ff.control("status")["upstreams"]), "answers")
        return self.held()

    def test_those_that_take_nothing(self):
        daemon.poll(lambda: self.ff.control("status")["state"] == "up", "up")
        before = self.ff.rss_kib()
        clients = [self.greedy() for _ in range(self.CLIENTS)]
        self.up.wait(rpc.READ, self.CLIENTS)
        call = self.SIZE + 4096
        bound = LIMIT + self.CLIENTS * call
        self.assertLess(self.settled(), bound)
        # Buffers are larger than what they hold; a shadow is added by
        # sanitizers.
        self.assertLess((self.ff.rss_kib() - before) << 10, 6 * bound)
        # Somebody else gets what he asks for, call by call.
        with self.ff.connect() as c:
            for _ in range(4):
                c.call(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        # When they begin to read, they get all of it.
        waiting = {c.sock: self.CALLS for c in clients}
        by_sock = {c.sock: c for c in clients}
        while waiting:
            ready, _, _ = select.select(list(waiting), [], [], daemon.BOUND)
            self.assertTrue(ready, "nothing comes: %s" % waiting.values())
            for sock in ready:
                self.assertEqual(rpc.status(by_sock[sock].recv()), 0)
                waiting[sock] -= 1
                if not waiting[sock]:
                    del waiting[sock]
        daemon.poll(lambda: self.held() == 0, "all is given back")

    def test_one_that_takes_nothing_is_closed(self):
        """Soon, where room is short; and the others' calls go on."""
        clients = [self.greedy() for _ in range(self.CLIENTS)]
        self.settled()
        daemon.poll(lambda: self.ff.counter("connections_closed_slow_reader")
                    > 0, "they are closed", 60)
        self.assertTrue(self.ff.lines("it does not receive its replies"))
        for c in clients:
            c.close()
        daemon.poll(lambda: self.held() == 0, "all is given back")


if __name__ == "__main__":
    daemon.main()
