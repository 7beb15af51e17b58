# SPDX-License-Identifier: GPL-2.0-or-later
"""A link that NetworkManager calls metered carries little that nobody asked
for; and whatever is on the bus, the daemon serves on."""
import os
import shutil
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import dbuspeer as dbus
import fakeserver
import rpc
import test_warm
from daemon import poll

NAME = "org.freedesktop.NetworkManager"
AT = ("/org/freedesktop/NetworkManager", "org.freedesktop.DBus.Properties")
UNKNOWN, YES, NO, GUESS_YES, GUESS_NO = range(5)
RETRY = 25  # seconds, within which a question is asked again


def metered(value):
    return "v", dbus.variant("u", dbus.u32(value))


class Metered(daemon.Case):
    def setUp(self):
        self.bus = dbus.Bus()
        self.addCleanup(self.bus.close)
        self.up = fakeserver.FakeServer()
        self.addCleanup(self.up.close)
        self.ff = daemon.Daemon(self.up.port, {"log_level": "debug"})
        self.addCleanup(self.ff.close)
        self.ff.env["DBUS_SYSTEM_BUS_ADDRESS"] = self.bus.address

    def manager(self, answer):
        """A NetworkManager that gives this answer, or that of this
        function."""
        peer = dbus.Peer(self.bus, NAME, answer if callable(answer)
                         else lambda fields: answer)
        self.addCleanup(peer.close)
        return peer

    def start(self, answer=None):
        self.bus.start()
        if answer:
            self.nm = self.manager(answer)
        self.ff.start()

    def says(self, value):
        self.nm.answer = lambda fields: metered(value)
        self.changed(self.nm)

    def changed(self, peer, dest=None):
        peer.signal(AT, "PropertiesChanged", "sa{sv}as",
                    dbus.pad(dbus.pad(dbus.string(NAME), 4) + dbus.u32(0),
                             8) + dbus.u32(0), dest)

    def is_metered(self, ff=None):
        return (ff or self.ff).control("status")["hold"]["metered"]

    def becomes(self, value, bound=daemon.BOUND):
        poll(lambda: self.is_metered() == value, "metered: %r" % value, bound)

    def asked(self, n=1):
        poll(lambda: len(self.nm.calls) >= n, "it asks")

    def settled(self):
        """It has heard what it was told."""
        self.asked()
        self.assertFalse(self.is_metered())
        self.bystander()

    # ---- what NetworkManager may say

    def test_follows(self):
        self.start(metered(YES))
        self.becomes(True)
        for value in (NO, GUESS_YES, GUESS_NO, YES, UNKNOWN):
            self.says(value)
            self.becomes(value in (YES, GUESS_YES))
        self.says(YES)
        self.becomes(True)
        # The configuration goes before what the system says.
        self.ff.write_config(metered="no")
        self.ff.hup()
        self.assertFalse(self.is_metered())
        self.ff.write_config(metered="auto")
        self.ff.hup()
        self.assertTrue(self.is_metered())

    def test_configured(self):
        self.ff.write_config(metered="yes", metered_budget="3M")
        self.start(metered(NO))
        self.asked()
        hold = self.ff.control("status")["hold"]
        self.assertEqual((hold["metered"], hold["metered_limit_bytes"]),
                         (True, 3 << 20))
        out = self.ff.control("stats")["gauges"]
        self.assertEqual((out["metered"], out["metered_limit_bytes"]),
                         (1, 3 << 20))

    def test_goes_and_comes(self):
        self.start(metered(YES))
        self.becomes(True)
        self.nm.close()
        self.becomes(False)
        self.nm = self.manager(metered(GUESS_YES))
        self.becomes(True)
        self.bystander()

    # ---- what it should not say

    def test_silent(self):
        """One that does not answer has not taken back what it said."""
        self.start(lambda fields: None)
        self.settled()
        self.says(YES)
        self.becomes(True, RETRY)
        self.nm.answer = None
        calls = len(self.nm.calls)
        self.changed(self.nm)
        self.asked(calls + 1)
        self.assertTrue(self.is_metered())
        self.bystander()

    def test_garbage(self):
        def text(body):
            return "v", dbus.pad(dbus.signature("s"), 4) + body
        for answer in (
                text(dbus.string("yes")), text(dbus.string("a" * 1000000)),
                ("u", dbus.u32(YES)), ("s", dbus.string("")),
                ("v", dbus.signature("b") + b"\0" + dbus.u32(1)),
                metered(0xffffffff), "org.freedesktop.DBus.Error.Failed",
                "org.freedesktop.DBus.Error.UnknownProperty",
                "org.freedesktop.DBus.Error.AccessDenied"):
            with self.subTest(answer=str(answer)[:50]):
                if not self.bus.process:
                    self.start(answer)
                n = len(self.nm.calls)
                self.nm.answer = lambda fields, answer=answer: answer
                self.changed(self.nm)
                self.asked(n + 1)
                self.settled()
        self.says(YES)
        self.becomes(True)

    def test_liar(self):
        """Signals of anybody make it ask, once a second, and no more."""
        self.start(metered(NO))
        self.asked()
        liar = dbus.Peer(self.bus)
        self.addCleanup(liar.close)
        dest = self.nm.calls[0][dbus.SENDER]
        begun, asked = time.monotonic(), len(self.nm.calls)
        for _ in range(5000):
            self.changed(liar, dest)
            liar.signal(dbus.DBUS, "NameOwnerChanged", "sss",
                        dbus.strings(NAME, "", dest), dest)
        self.bystander()
        self.assertFalse(self.is_metered())
        seconds = time.monotonic() - begun
        self.assertLessEqual(len(self.nm.calls), asked + seconds + 2)
        self.assertLess(self.ff.rss_kib(), 200 << 10)

    # ---- the bus

    def test_bus_comes_later(self):
        self.ff.start()
        self.assertFalse(self.is_metered())
        self.bystander()
        self.bus.start()
        self.nm = self.manager(metered(YES))
        self.becomes(True, RETRY)

    def test_bus_restarts(self):
        self.start(metered(YES))
        self.becomes(True)
        self.bus.stop()
        self.becomes(False)
        self.bystander()
        self.bus.start()
        self.nm = self.manager(metered(YES))
        self.becomes(True, RETRY)

    def test_bus_is_stopped(self):
        """It accepts no connection and answers nothing."""
        self.bus.start()
        self.bus.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        self.ff.start()
        self.assertFalse(self.is_metered())
        self.bystander()
        self.ff.stop()
        self.assertLess(time.monotonic() - begun, 5)

    def test_bus_is_none(self):
        """Something else listens there, and talks nonsense."""
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(self.bus.path)
            s.listen(5)
            s.settimeout(daemon.BOUND)
            self.ff.start()
            peer, _ = s.accept()
            peer.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n" +
                         b"ERROR\r\n" + os.urandom(100000))
            self.bystander()
            peer.close()
            self.bystander()
        self.assertFalse(self.is_metered())


class Warm(test_warm.Tree):
    """Files that somebody asked for are fetched over a metered link, and wait
    for the end of a pause."""
    settings = {"metered": "yes", "metered_budget": "0"}

    def walk(self, control, body=b""):
        return control.ask(19, body)

    def test_metered(self):
        warm = test_warm.Warm(self.ff)
        self.addCleanup(warm.close)
        got = warm.end()
        self.assertEqual((got["files"], got["failed"]), (2, 0))
        self.assertEqual(warm.control.ask(19)[16], 1)
        hold = self.ff.control("status")["hold"]
        self.assertEqual(hold["metered_bytes"], 0)

    def test_paused(self):
        control = test_warm.Control(self.ff)
        self.addCleanup(control.close)
        control.ask(30)
        warm = test_warm.Warm(self.ff)
        self.addCleanup(warm.close)
        got = warm.control.ask(19)
        self.assertEqual((got.get(1, 0), got[15]), (0, 1))
        self.assertEqual(self.up.seen(rpc.READDIRPLUS), [])
        self.bystander_alive()
        control.ask(30, test_warm.field(2, 1))
        got = warm.end()
        self.assertEqual((got["files"], got["failed"]), (2, 0))

    def test_pause_is_bounded(self):
        control = test_warm.Control(self.ff)
        self.addCleanup(control.close)
        for ms in (366 * 86400000, (1 << 64) - 1):
            self.assertIn(-1, control.ask(30, test_warm.field(3, ms)))
        self.assertFalse(self.ff.control("status")["hold"]["paused"])
        control.ask(30, test_warm.field(3, 1))
        poll(lambda: not self.ff.control("status")["hold"]["paused"],
             "it ends")

    def test_restart_ends_a_pause(self):
        control = test_warm.Control(self.ff)
        self.addCleanup(control.close)
        control.ask(30)
        self.assertIsNone(
            self.ff.control("status")["hold"]["pause_left_us"])
        self.ff.kill()
        self.ff.start()
        self.assertFalse(self.ff.control("status")["hold"]["paused"])


class Pins(test_warm.Tree):
    """A pinned tree is fetched when it is pinned, and not checked over a
    metered link that may carry nothing more."""
    settings = {"metered": "yes", "metered_budget": "0"}

    def lists(self):
        return len(self.up.seen(rpc.READDIRPLUS))

    def use(self):
        """Clients call, behind which the pins are looked at."""
        self.bystander_alive()
        return True

    def test_check_is_left_out(self):
        control = test_warm.Control(self.ff)
        self.addCleanup(control.close)
        control.ask(23, test_warm.field(1, 1) + test_warm.field(
            2, test_warm.place(self.ff)))
        poll(lambda: self.lists() >= 3, "it is fetched")
        poll(lambda: os.path.exists(os.path.join(
            self.ff.top["cache_dir"], "nas", "pins")), "it is kept")
        self.ff.stop()
        self.ff.start()
        lists, end = self.lists(), time.monotonic() + 2.5
        while time.monotonic() < end: # two looks, a second apart
            self.use()
            time.sleep(0.1)
        self.assertEqual(self.lists(), lists)
        self.ff.write_config(metered="no")
        self.ff.hup()
        poll(lambda: self.use() and self.lists() > lists, "it is checked")


if __name__ == "__main__":
    if not shutil.which("dbus-daemon"):
        sys.exit(print("SKIP: no dbus-daemon"))
    daemon.main()
