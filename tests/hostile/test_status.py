# SPDX-License-Identifier: GPL-2.0-or-later
"""`forefetch status` and `stats` tell the truth."""
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import daemon
import fakeserver
import rpc
from tree import VERSION, field

HOST = "127.77.0.1"  # whose ports below 1024 are free
ERROR, STATS, TREES, PIN = 15, 17, 21, 23
BAD_REQUEST, BAD_VERSION = 1, 2
ESCAPE = b"\x1b[2J"


class Responder:
    """Answers each RPC call that comes to a port by a function of the call's
    header: [xid, 0, 2, program, version, procedure]."""

    def __init__(self, port, answer):
        self.answer = answer
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((HOST, port))
        self.sock.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,),
                             daemon=True).start()

    def serve(self, sock):
        client = rpc.Client.__new__(rpc.Client)
        client.sock = sock
        try:
            while True:
                r = rpc.Reader(client.recv_record())
                head = [r.u32() for _ in range(6)]
                sock.sendall(rpc.record(self.answer(head, r)))
        except (rpc.Closed, OSError):
            sock.close()

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def rpcbind(ports):
    """The answer of an rpcbind where (program, version) are at `ports`."""
    def answer(head, r):
        for _ in range(2):
            r.u32()
            r.opaque()
        asked = r.u32(), r.u32()
        return rpc.accepted(head[0], 0, rpc.u32(ports.get(asked, 0)))
    return answer


def only_version_4(head, r):
    return rpc.accepted(head[0], rpc.PROG_MISMATCH, rpc.u32(4, 4))


def can_bind(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((HOST, port))
            return True
        except OSError:
            return False


class Status(daemon.Case):
    settings = {"prefetch": "off"}

    def status(self, ff=None):
        return (ff or self.ff).control("status")

    def command(self, *args, ff=None):
        return subprocess.run(
            [daemon.binary("forefetch"), "--socket", (ff or self.ff).socket,
             *args], env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=daemon.BOUND)

    def check(self, *args, ff=None):
        out = self.command("status", "--check", *args, ff=ff)
        return out.returncode, out.stdout

    def reason(self, *words, what=lambda st: st["reason"] or "", ff=None):
        """Wait until all these words are in it."""
        return daemon.poll(
            lambda: all(w in what(self.status(ff)) for w in words) and
            what(self.status(ff)), "%r: %r" % (words, self.status(ff)), 20)


class Outage(Status):
    def test_since_the_connection_was_lost(self):
        """However often it was tried to connect meanwhile."""
        daemon.poll(lambda: self.status()["state"] == "up", "it is up")
        self.assertIsNone(self.status()["reason"])
        self.assertEqual(self.check(), (0, ""))
        self.up.down()
        first = self.reason("cannot connect to 127.0.0.1:%d" % self.up.port,
                            "refused")
        tries = self.ff.counter("upstream_connect_failures")
        age = self.status()["state_age_us"]
        daemon.poll(lambda: self.ff.counter("upstream_connect_failures") >=
                    tries + 6, "it tries", 30)
        st = self.status()
        self.assertGreater(st["state_age_us"], age)
        # Each of six tries waited for longer than the first one, 50 ms.
        self.assertGreater(st["state_age_us"], 300000)
        self.assertIn(st["state"], ("down", "connecting"))
        self.assertEqual(st["last_error"], first)
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertRegex(text, r"^nas: not connected to the server for .*: "
                         r"cannot connect to .*refused.*\n$")
        self.up.up()
        daemon.poll(lambda: self.status()["state"] == "up", "it is back", 20)
        self.assertIsNone(self.status()["reason"])
        self.assertEqual(self.check(), (0, ""))

    def test_check_as_json(self):
        out = self.check("--json")
        self.assertEqual((out[0], json.loads(out[1])),
                         (0, {"problems": [], "warnings": [], "ok": True}))
        self.up.down()
        self.reason("refused")
        code, text = self.check("--json")
        value = json.loads(text)
        self.assertEqual((code, value["ok"]), (1, False))
        self.assertEqual(value["problems"][0]["server"], "nas")
        self.assertIn("refused", value["problems"][0]["reason"])

    def test_usage(self):
        self.assertEqual(self.command("stats", "--check").returncode, 2)

    def test_no_daemon(self):
        self.ff.stop()
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertNotEqual(text, "")

    def test_reload(self):
        self.ff.write_config(attr_timeout="soon")
        self.ff.hup()
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("forefetchd: the configuration was not reloaded: ",
                      text)
        self.assertIn("attr_timeout", text)
        self.assertIn("last reload failed", self.command("status").stdout)
        self.ff.write_config(attr_timeout="3s")
        self.ff.hup()
        self.assertEqual(self.check(), (0, ""))
        self.assertNotIn("reload", self.command("status").stdout)

    def test_refused_program(self):
        """The server answers, but has no NFSv3."""
        self.up.script(rpc.GETATTR, lambda call: fakeserver.Raw(
            rpc.accepted(call.xid, rpc.PROG_MISMATCH, rpc.u32(4, 4))))
        with self.connect() as c:
            c.call(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        self.assertIn("NFSv4", self.status()["reason"])
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("nas: calls fail: the server offers NFSv4 only", text)
        self.up.script(rpc.GETATTR, None)
        with self.connect() as c:
            c.call(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        self.assertEqual(self.check(), (0, ""))


class Log(unittest.TestCase):
    def test_lines_of_libevent(self):
        """They have a time and a priority, as all lines do."""
        ff = daemon.Daemon(1)
        self.addCleanup(ff.close)
        with unittest.mock.patch.dict(os.environ, EVENT_SHOW_METHOD="1"):
            ff.start()
        lines = ff.lines("libevent using")
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"^\d{4}-\S+Z info libevent ")


class Gauges(Status):
    def gauges(self):
        return self.ff.control("stats")["gauges"]

    def test_state_of_the_server(self):
        held = []
        self.up.script(rpc.READ,
                       lambda call: held.append(call) or fakeserver.HOLD)
        daemon.poll(lambda: self.gauges()["up"] == 1, "it is up")
        c = self.connect()
        c.send(rpc.READ, rpc.read_args(count=64))
        self.up.wait(rpc.READ)
        gauges = self.gauges()
        self.assertEqual((gauges["clients"], gauges["calls_in_flight"]),
                         (1, 1))
        self.assertGreater(gauges["clients_bytes"], 0)
        self.assertLess(gauges["clients_bytes"],
                        gauges["clients_limit_bytes"])
        self.up.down()
        daemon.poll(lambda: self.gauges()["up"] == 0, "it is down")


class Name(Status):
    settings = {"address": "no-such-host.invalid"}

    def test_name_is_not_known(self):
        self.reason("the name no-such-host.invalid is not known: ")
        self.assertIn("is not known: ", self.status()["last_error"])
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("the name no-such-host.invalid is not known: ", text)


@unittest.skipUnless(can_bind(111), "needs port 111")
class Rpcbind(Status):
    """A server whose ports are asked of its rpcbind."""

    def setUp(self):
        pass

    def respond(self, port, answer):
        responder = Responder(port, answer)
        self.addCleanup(responder.close)

    def start(self):
        self.ff = daemon.Daemon(0, address=HOST)
        del self.ff.server["nfs_port"], self.ff.server["mount_port"]
        self.ff.write_config()
        self.addCleanup(self.ff.close)
        self.ff.start()

    def test_no_rpcbind(self):
        self.start()
        self.reason("NFSv3", "rpcbind (port 111)", "refused")
        self.reason("MOUNTv3", "rpcbind (port 111)", "refused",
                    what=lambda st: st["mount"]["reason"] or "")

    def test_version_4_without_rpcbind(self):
        self.respond(2049, only_version_4)
        self.start()
        self.reason("the server offers NFSv4 only", "switch NFSv3 on",
                    "vers=4")

    def test_version_4_not_registered(self):
        self.respond(111, rpcbind({}))
        self.respond(2049, only_version_4)
        self.start()
        self.reason("the server offers NFSv4 only")

    def test_version_4_registered(self):
        """rpcbind gives the port of another version, too."""
        self.respond(111, rpcbind({(100003, 3): 2049, (100005, 3): 2049}))
        self.respond(2049, only_version_4)
        self.start()
        self.reason("the server offers NFSv4 only")
        self.assertEqual(self.status()["state"], "up")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("NFSv4", text)

    def test_another_service(self):
        """The program that listens at the port of NFS knows no NFS."""
        self.respond(111, rpcbind({(100003, 3): 2049, (100005, 3): 2049}))
        self.respond(2049, lambda head, r: rpc.accepted(
            head[0], rpc.PROG_UNAVAIL))
        self.start()
        self.reason("serves neither NFSv3 nor a later version")

    def test_version_3_without_rpcbind(self):
        self.respond(2049, lambda head, r: rpc.accepted(head[0]))
        self.start()
        self.reason("NFSv3 answers at port 2049", "nfs_port")

    def test_mount_is_missing(self):
        """NFS works; who would mount hears why that fails."""
        self.respond(111, rpcbind({(100003, 3): 2049}))
        self.respond(2049, lambda head, r: rpc.accepted(head[0]))
        self.start()
        self.reason("MOUNTv3: it is not registered",
                    what=lambda st: st["mount"]["reason"] or "")
        daemon.poll(lambda: self.status()["state"] == "up", "it is up")
        self.assertIsNone(self.status()["reason"])
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("nas: new mounts fail: MOUNTv3: it is not registered",
                      text)


class Latency(daemon.Case):
    settings = {"prefetch": "off", "consistency": "frozen"}

    def test_every_call_counts(self):
        """Answers from memory, one in eight of which is timed."""
        c = self.connect()
        for _ in range(203):
            c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        row = next(r for r in self.ff.control("stats")["calls"]
                   if (r["side"], r["procedure"]) == ("client", "GETATTR"))
        self.assertEqual(row["calls"], 203)
        self.assertEqual(sum(n for _, _, n in row["histogram"]), 203)
        self.assertGreaterEqual(row["sum_us"], row["max_us"])
        self.assertLessEqual(row["sum_us"], 203 * row["max_us"])


class Sections(Status):
    """Two [export] sections whose paths are on one file system."""

    def start_daemon(self, **kw):
        ff = daemon.Daemon(self.up.port, **kw)
        self.addCleanup(ff.close)
        with open(ff.file, "a") as f:
            f.write("[export nas:/loose]\nconsistency = frozen\n"
                    "[export nas:/tight]\nconsistency = strict\n")
        return ff.start()

    def test_the_stricter_one_counts(self):
        self.connect().nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        loose, tight = daemon.poll(
            lambda: all(o["known"] for o in self.status()["overrides"]) and
            self.status()["overrides"], self.ff.log)
        self.assertEqual((loose["overruled_by"], tight["overruled_by"]),
                         ("/tight", None))
        self.assertIn("/loose: frozen, permissions are remembered for 1 h 0 min; "
                      "but /tight is on the same file system; that one is "
                      "stricter, and applies\n",
                      self.command("status").stdout)
        self.assertEqual(self.ff.log().count("path=/loose stricter=/tight: "),
                         1)
        self.assertIn("/loose is on the same file system as /tight, whose "
                      "section is stricter and applies to both",
                      " ".join(self.command("doctor").stdout.split()))


class Answers(unittest.TestCase):
    """forefetch copes with answers that forefetchd of this release would not
    give: of another release, without a part, or with bytes for the
    terminal."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ff-hostile-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.path = os.path.join(self.dir, "control.sock")
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(self.path)
        self.sock.listen(5)
        self.sock.settimeout(daemon.BOUND)
        self.addCleanup(self.sock.close)

    def serve(self, answer):
        conn, _ = self.sock.accept()
        with conn:
            conn.recv(65536)
            conn.sendall(struct.pack(">I", len(answer)) + answer)
            conn.recv(1) # until it has read that

    def ask(self, result, *args, version=VERSION):
        """Returns what it prints where each request is answered so."""
        thread = threading.Thread(
            target=self.serve, args=(field(1, version) + result,))
        thread.start()
        out = subprocess.run(
            [daemon.binary("forefetch"), "--socket", self.path, *args],
            env=daemon.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=daemon.BOUND)
        thread.join()
        self.assertNotIn(b"\x1b", out.stdout + out.stderr)
        self.assertIn(out.returncode, (0, 1), out.stderr)
        return out.returncode, out.stdout.decode(), out.stderr.decode()

    def refused(self, result, *args):
        for options in ((), ("--json",)):
            code, out, err = self.ask(result, *options, *args)
            self.assertEqual(code, 1)
            if options:
                self.assertEqual(list(json.loads(out)), ["error"])
            else:
                self.assertEqual(out, "")
            self.assertIn("of another release; restart forefetchd", err)

    def test_trees_without_a_list(self):
        self.refused(field(TREES, b""), "trees", "list")

    def test_trees_without_a_text(self):
        self.refused(field(TREES, b""), "trees", "show", "1f")

    def test_pin_without_a_walk(self):
        self.refused(field(PIN, field(1, field(1, 1))), "pins")

    def test_other_release(self):
        error = field(ERROR, field(1, BAD_VERSION) + field(2, b"so it is"))
        for version, what in ((VERSION - 1, "restart forefetchd"),
                              (VERSION + 1, "upgrade forefetch\n")):
            code, _, err = self.ask(error, "status", version=version)
            self.assertEqual(code, 1)
            self.assertIn("different releases (so it is); " + what, err)

    def test_error_is_escaped(self):
        error = field(ERROR, field(1, BAD_REQUEST) + field(2, b"a" + ESCAPE))
        _, _, err = self.ask(error, "status")
        self.assertEqual(err, "forefetch: a\\x1b[2J\n")

    def test_procedure_is_escaped(self):
        call = field(2, b"nfs") + field(3, b"a" + ESCAPE) + field(4, 1)
        _, out, _ = self.ask(
            field(STATS, field(1, field(2, call))), "stats", "--histogram")
        self.assertIn("time of a\\x1b[2J", out)


if __name__ == "__main__":
    daemon.main()
