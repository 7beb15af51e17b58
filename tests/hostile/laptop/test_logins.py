# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody logs in to this machine: what the server granted that user is asked
for anew, since the user may have joined or left a group.

logind's folder of sessions is the test's own, so it runs itself in namespaces.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import ownnet
import rpc

SESSIONS = "/run/systemd/sessions"
ALICE, BOB = 1000, 1001


class Logins(daemon.Case):
    # What was granted lasts for as long as the test.
    settings = {"prefetch": "off", "consistency": "frozen"}

    def setUp(self):
        self.addCleanup(shutil.rmtree, SESSIONS)
        os.makedirs(SESSIONS)
        self.session("1", BOB)
        super().setUp()

    def session(self, name, uid, kind="user"):
        """logind writes a session's file under another name, and renames it."""
        path = os.path.join(SESSIONS, ".new")
        with open(path, "w") as f:
            f.write("UID=%d\nUSER=u%d\nACTIVE=1\nIS_DISPLAY=0\nSTATE=active\n"
                    "REMOTE=0\nTYPE=tty\nCLASS=%s\n" % (uid, uid, kind))
        os.rename(path, os.path.join(SESSIONS, name))

    def asks(self, uid):
        """Whether the user's ACCESS goes to the server."""
        before = len(self.up.seen(rpc.ACCESS))
        with self.connect() as c:
            # Its attributes are known from then on.
            c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
            reply = c.nfs(rpc.ACCESS, rpc.access_args(),
                          cred=rpc.auth_sys(uid, uid))
        self.assertEqual(reply[0], 0)
        return len(self.up.seen(rpc.ACCESS)) > before

    def test_login(self):
        for uid in (ALICE, BOB):
            self.assertTrue(self.asks(uid))
            self.assertFalse(self.asks(uid))
        self.session("2", ALICE)
        self.ff.counted("rights_ended", 1)
        self.assertTrue(self.asks(ALICE))
        self.assertFalse(self.asks(BOB))

    def test_while_the_daemon_is_down(self):
        """What was kept on disk may be older than a session."""
        for uid in (ALICE, BOB, 1002):
            self.assertTrue(self.asks(uid))
        self.ff.stop()
        self.session("2", ALICE)
        self.ff.start()
        self.assertTrue(self.asks(ALICE))
        self.assertFalse(self.asks(1002))

    def test_what_is_no_login(self):
        """A job of cron is a session, too; and one that was there changes."""
        for uid in (ALICE, BOB):
            self.assertTrue(self.asks(uid))
        self.session("2", ALICE, "background")
        self.session("1", BOB)
        # Behind these comes one that counts.
        self.assertTrue(self.asks(1002))
        self.session("3", 1002)
        self.ff.counted("rights_ended", 1)
        self.assertFalse(self.asks(ALICE))
        self.assertFalse(self.asks(BOB))


if __name__ == "__main__":
    ownnet.enter()
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    daemon.main()
