#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages that can be looked at over HTTP tell no secrets, obey no other site,
change nothing, and hold up nobody's files."""
import http.client
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import rpc
from daemon import poll
from rpc import opaque, u32

PATHS = ("/", "/style.css", "/script.js", "/chart.js", "/metrics",
         "/api/servers", "/api/history/nas", "/api/trees/nas")
ALICE = rpc.auth_sys(uid=41234, gid=41235)


class Web(daemon.Case):
    def start_daemon(self, **kw):
        self.port = fakeserver.free_port()
        return super().start_daemon(
            daemon={"metrics_listen": "127.0.0.1:%d" % self.port}, **kw)

    def ask(self, path, method="GET", host=None, **headers):
        """(status, headers, body)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            c.putrequest(method, path, skip_host=host is not None)
            if host:
                c.putheader("Host", host)
            for name, value in headers.items():
                c.putheader(name.replace("_", "-"), value)
            c.endheaders()
            res = c.getresponse()
            return res.status, dict(res.getheaders()), res.read().decode()
        finally:
            c.close()

    def metric(self, sample):
        """The value of a sample; None where there is none."""
        found = re.search("^%s (.*)$" % re.escape(sample),
                          self.ask("/metrics")[2], re.M)
        return float(found.group(1)) if found else None


class Metrics(Web):
    def test_promtool_finds_nothing(self):
        if not shutil.which("promtool"):
            self.skipTest("no promtool here (package prometheus)")
        with self.connect() as c:
            for proc, args in ((rpc.GETATTR, opaque(rpc.ROOT)),
                               (rpc.READ, rpc.read_args()),
                               (rpc.LOOKUP, rpc.lookup_args(b"a"))):
                c.call(proc, args)
        res = subprocess.run(["promtool", "check", "metrics"],
                             input=self.ask("/metrics")[2], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((res.returncode, res.stdout), (0, ""))

    def test_a_server_that_goes_away(self):
        up, state = 'forefetch_up{server="nas"}', "forefetch_server_state"
        away = 'forefetch_server_outage_seconds{server="nas"}'
        with self.connect() as c:
            c.call(rpc.GETATTR, opaque(rpc.ROOT))
        poll(lambda: self.metric(up) == 1, "it is up")
        self.assertEqual(
            self.metric(state + '{server="nas",state="up"}'), 1)
        self.assertEqual(self.metric(away), 0)
        self.up.down()
        poll(lambda: self.metric(up) == 0, "it is down")
        poll(lambda: self.metric(away) > 0.5, "the outage lasts")
        text = self.ask("/metrics")[2]
        states = re.findall('^%s{.*} ([01])$' % state, text, re.M)
        self.assertEqual(states.count("1"), 1)

    def test_each_call_counts(self):
        labels = ('{server="nas",side="client",program="nfs",'
                  'procedure="GETATTR"}')
        with self.connect() as c:
            for _ in range(200):
                c.call(rpc.GETATTR, opaque(rpc.ROOT))
        poll(lambda: self.metric("forefetch_calls_total" + labels) == 200,
             "200 calls")
        self.assertEqual(
            self.metric("forefetch_call_duration_seconds_count" + labels), 200)
        last = labels[:-1] + ',le="+Inf"}'
        self.assertEqual(
            self.metric("forefetch_call_duration_seconds_bucket" + last), 200)

    def test_a_reload_that_failed(self):
        name = "forefetch_config_last_reload_successful"
        self.assertEqual(self.metric(name), 1)
        with open(self.ff.file, "a") as f:
            f.write("no_such_key = 1\n")
        self.ff.process.send_signal(signal.SIGHUP)
        poll(lambda: self.metric(name) == 0, "the reload has failed")
        self.assertIn("no_such_key", json.loads(
            self.ask("/api/servers")[2])["reload_error"])

    def test_a_reload_that_needs_a_restart(self):
        name = "forefetch_config_restart_needed"
        self.assertEqual(self.metric(name), 0)
        self.ff.top["cache_dir"] += "-other"
        self.ff.write_config()
        self.ff.hup()
        poll(lambda: self.metric(name) == 1, "a restart is needed")
        self.assertEqual(
            self.metric("forefetch_config_last_reload_successful"), 1)
        self.assertEqual(json.loads(
            self.ask("/api/servers")[2])["reload_restart"], "cache_dir")

    def test_time_and_memory(self):
        self.assertGreater(self.metric("process_resident_memory_bytes"), 1e6)
        self.assertLess(abs(self.metric("process_start_time_seconds") -
                            time.time()), 60)
        first = self.metric("process_start_time_seconds")
        time.sleep(1.1) # an answer may be sent again for a second
        self.assertEqual(self.metric("process_start_time_seconds"), first)


class Page(Web):
    def test_it_needs_nobody_else(self):
        text = "".join(self.ask(p)[2] for p in PATHS[:4])
        found = set(re.findall(r"https?://[^\s\"'`]+", text))
        self.assertEqual(found, {"http://www.w3.org/2000/svg"})
        self.assertEqual(re.findall(r"<script(?! src=)|<style|\son\w+=|style=",
                                    self.ask("/")[2]), [])
        for name in re.findall(r'(?:src|href)="([^":]+)"', self.ask("/")[2]):
            self.assertEqual(self.ask("/" + name)[0], 200, name)

    def test_head_and_other_methods(self):
        for path in PATHS:
            status, headers, body = self.ask(path, "HEAD")
            self.assertEqual((status, body), (200, ""), path)
            self.assertGreater(int(headers["Content-Length"]), 10, path)
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"):
                self.assertEqual(self.ask(path, method)[0], 405, path)
        for path in ("/none", "/metrics/x", "/api/", "/api/history/none",
                     "/api/trees/", "/..%2f..", "/" + "a" * 5000):
            self.assertEqual(self.ask(path)[0], 404, path)

    def test_other_sites_are_refused(self):
        own = "127.0.0.1:%d" % self.port
        for host in ("evil.example", "evil.example:%d" % self.port,
                     "127.0.0.1.evil.example", "[::1].evil.example", "0x7f.1",
                     "localhost.evil.example", "", "a" * 300, "@127.0.0.1"):
            for path in PATHS:
                self.assertIn(self.ask(path, host=host or " ")[0], (400, 403),
                              (host, path))
        for headers in ({"Origin": "http://evil.example"},
                        {"Origin": "null"},
                        {"Origin": "http://127.0.0.1:1"},
                        {"Sec_Fetch_Site": "cross-site",
                         "Sec_Fetch_Mode": "cors"},
                        {"Sec_Fetch_Site": "cross-site",
                         "Sec_Fetch_Mode": "no-cors"},
                        {"Sec_Fetch_Site": "same-site"}):
            for path in PATHS:
                status, _, body = self.ask(path, host=own, **headers)
                self.assertEqual(status, 403, (headers, path))
                self.assertIn("other sites", body)
        for host in ("localhost", "127.0.0.1", "[::1]:80", socket.gethostname(),
                     "10.1.2.3:9899"):
            self.assertEqual(self.ask("/metrics", host=host)[0], 200, host)
        self.assertEqual(self.ask("/api/servers", host=own, Sec_Fetch_Site=(
            "same-origin"), Origin="http://" + own)[0], 200)

    def test_no_answer_may_be_shared(self):
        for path in PATHS + ("/none",):
            _, headers, _ = self.ask(path)
            policy = headers["Content-Security-Policy"]
            self.assertTrue(policy.startswith("default-src 'none';"), path)
            self.assertNotIn("unsafe", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertEqual(headers["X-Frame-Options"], "DENY")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertNotIn("access-control-allow-origin",
                             [h.lower() for h in headers])

    def test_nonsense(self):
        for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n",
                     b"GET / HTTP/9.9\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost 1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000,
                     b"A" * 20000, os.urandom(4000) + b"\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), 10) as s:
                try:
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    answer = s.recv(100)
                except ConnectionError:
                    continue
                self.assertIn(answer[:13], (b"", b"HTTP/1.1 400 ",
                                            b"HTTP/1.1 403 "), data[:30])
        self.assertEqual(self.ask("/metrics")[0], 200)


class Secrets(Web):
    def test_no_names_of_files_users_or_clients(self):
        secret = [b"salaries-%d.xls" % i for i in range(12)]

        def fh(name):
            return b"fh-" + name

        def attr(handle):
            if handle == rpc.ROOT:
                return rpc.fattr(rpc.DIR, 1, 4096, 0o755)
            return rpc.fattr(rpc.REG, 100 + secret.index(handle[3:]), 4096)

        self.up.script(rpc.LOOKUP, lambda c: self.found(c, fh, attr))
        self.up.script(rpc.GETATTR, lambda c: u32(0) + attr(
            c.reader().opaque()))
        with self.connect() as c:
            for _ in range(3):
                for name in secret:
                    c.call(rpc.LOOKUP, rpc.lookup_args(name), cred=ALICE)
                    c.call(rpc.GETATTR, opaque(fh(name)), cred=ALICE)
        trees = poll(lambda: json.loads(self.ask("/api/trees/nas")[2])
                     ["trees"] or self.fresh(), "a tree is learned", 60)
        self.assertGreaterEqual(trees[0]["objects"], 2)
        self.assertEqual(sorted(trees[0]), ["kind", "more", "nodes", "objects",
                                            "tag", "uses"])
        for path in PATHS:
            text = self.ask(path)[2]
            for word in ("salaries", "41234", "41235", fh(secret[0]).hex()):
                self.assertNotIn(word, text, path)

    def found(self, call, fh, attr):
        r = call.reader()
        r.opaque()
        name = r.opaque()
        return (u32(0) + opaque(fh(name)) + u32(1) + attr(fh(name)) + u32(1) +
                attr(rpc.ROOT))

    def fresh(self):
        """Trees are sent again for 20 s, but a restart forgets that."""
        self.ff.stop()
        self.ff.start()
        return None


class Reloads(Web):
    def test_servers_come_and_go_while_it_is_asked(self):
        """Trees are walked in many turns, and the server may leave between."""
        with self.connect() as c:
            for i in range(300):
                name = b"f%03d" % i
                c.call(rpc.LOOKUP, rpc.lookup_args(name), cred=ALICE)
        stop, answers = threading.Event(), []

        def look():
            while not stop.is_set():
                for path in PATHS[4:] + ("/api/trees/b", "/api/history/b"):
                    answers.append(self.ask(path)[0])

        threads = [threading.Thread(target=look) for _ in range(4)]
        for t in threads:
            t.start()
        with open(self.ff.file) as f:
            text = f.read()
        try:
            for i in range(8):
                name = ("b", "nas")[i % 2]
                with open(self.ff.file, "w") as f:
                    f.write(text.replace("[server nas]", "[server %s]" % name))
                self.ff.process.send_signal(signal.SIGHUP)
                poll(lambda: self.metric('forefetch_up{server="%s"}' % name),
                     "server %s serves" % name, 30)
        finally:
            stop.set()
            for t in threads:
                t.join()
        self.assertLessEqual(set(answers), {200, 404})
        self.assertEqual(self.metric("forefetch_servers"), 1)


class Floods(Web):
    def flood(self, stop, data, counts):
        """As many connections as go, 64 at a time."""
        sel = selectors.DefaultSelector()
        open_now = 0
        while not stop.is_set() or open_now:
            while open_now < 64 and not stop.is_set():
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(("127.0.0.1", self.port))
                sel.register(s, selectors.EVENT_WRITE)
                open_now += 1
                counts["asked"] += 1
            for key, what in sel.select(0.2):
                s = key.fileobj
                try:
                    if what & selectors.EVENT_WRITE:
                        s.send(data)
                        sel.modify(s, selectors.EVENT_READ)
                        continue
                    got = s.recv(1 << 18)
                    counts["bytes"] += len(got)
                    if got:
                        counts["answers"] += got.startswith(b"HTTP/1.1 200")
                        continue
                except OSError:
                    pass
                sel.unregister(s)
                s.close()
                open_now -= 1
            if stop.is_set():
                for key in list(sel.get_map().values()):
                    sel.unregister(key.fileobj)
                    key.fileobj.close()
                open_now = 0

    def latencies(self, seconds):
        """Milliseconds of cached calls, one after the other."""
        out, end = [], time.monotonic() + seconds
        with self.connect() as c:
            while time.monotonic() < end:
                begin = time.monotonic()
                st, _ = c.nfs(rpc.READ, rpc.read_args(count=64))
                out.append(1000 * (time.monotonic() - begin))
                self.assertEqual(st, 0)
                time.sleep(0.002)
        return sorted(out)

    def during(self, data):
        stop, counts = threading.Event(), {"asked": 0, "answers": 0,
                                           "bytes": 0}
        thread = threading.Thread(target=self.flood,
                                  args=(stop, data, counts))
        thread.start()
        try:
            self.latencies(0.3)
            cpu = self.cpu()
            ms = self.latencies(2.5)
            share = (self.cpu() - cpu) / 2.5
        finally:
            stop.set()
            thread.join()
        return ms, share, counts

    def cpu(self):
        with open("/proc/%d/stat" % self.ff.process.pid) as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_scrapes_hold_up_no_calls(self):
        for path in (b"/metrics", b"/api/trees/nas", b"/script.js"):
            ms, share, counts = self.during(
                b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            print("%s: %s, call p50 %.1f ms, p99 %.1f ms, CPU %.0f %%" % (
                path.decode(), counts, ms[len(ms) // 2],
                ms[len(ms) * 99 // 100], 100 * share), file=sys.stderr)
            self.assertGreater(counts["answers"], 20)
            self.assertLess(counts["answers"], 230 * 4)
            self.assertLess(ms[len(ms) // 2], 50)
            self.assertLess(share, 0.9 if os.environ.get("FF_ASAN") else 0.5)

    def test_who_says_nothing_gives_way(self):
        idle = [socket.create_connection(("127.0.0.1", self.port), 10)
                for _ in range(40)]
        for s in idle:
            s.send(b"GET /metrics HTTP/1.1\r\nHost: loc")
        self.assertEqual(self.ask("/metrics")[0], 200)
        before = self.metric("process_open_fds")
        self.assertLess(before, 120)
        for s in idle:
            s.close()

    def test_who_reads_nothing_is_closed(self):
        slow = []
        for _ in range(20):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect(("127.0.0.1", self.port))
            s.send(b"GET /script.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.append(s)
        self.assertEqual(self.ask("/metrics")[0], 200)
        for s in slow:
            s.close()


if __name__ == "__main__":
    daemon.main()
