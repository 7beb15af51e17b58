# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon whose server loses replies, and forgets or keeps what it answered."""
import daemon
from daemon import poll
from fakeserver import CLOSE, HOLD


class ResendCase(daemon.Case):
    settings = {"connections": 1}

    def setUp(self):
        super().setUp()
        self.client = self.connect()
        poll(lambda: self.up.conns, "it is connected")

    def lose_reply(self, proc):
        """The next call of this kind has its effect, and its reply is lost;
        repeats meet a server that does not know them."""
        def script(call):
            self.up.script(proc, None)
            self.up.plausible(call)
            return CLOSE
        self.up.script(proc, script)

    def reply_cache(self, proc):
        """As lose_reply(), but the server knows a repeated XID from the same
        port, as knfsd does."""
        replies = {}

        def script(call):
            key = call.xid, call.port, call.body
            if key in replies:
                return replies[key]
            replies[key] = self.up.plausible(call)
            return CLOSE
        self.up.script(proc, script)

    def hold(self, proc):
        held = []
        self.up.script(proc, lambda call: held.append(call) or HOLD)
        return held

    def assertSameCall(self, calls, port=True):
        self.assertEqual(len({c.xid for c in calls}), 1)
        self.assertEqual(len({c.body for c in calls}), 1)
        self.assertEqual(len({c.cred for c in calls}), 1)
        if port:
            self.assertEqual(len({c.port for c in calls}), 1)

    def restart(self):
        self.ff.kill()
        self.ff.start()
        self.client = self.connect()
