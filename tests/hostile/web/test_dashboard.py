#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The dashboard of Grafana and the alert rules ask a real Prometheus, which
scrapes a daemon, and every expression finds something: no name is misspelt."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
import daemon
import fakeserver
import rpc
from daemon import poll
from rpc import opaque

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                       os.pardir, os.pardir, "configs")
RULES = os.path.join(CONFIGS, "forefetch.rules.yml")
CONFIG = """
global: {scrape_interval: 1s}
rule_files: ["%s"]
scrape_configs:
  - job_name: forefetch
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def dashboard():
    """(title of the panel, expression)"""
    with open(os.path.join(CONFIGS, "grafana.json")) as f:
        board = json.load(f)
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def rules():
    """(name of the alert, each series that its expression selects)"""
    with open(RULES) as f:
        text = f.read()
    for name, expr in re.findall(
            r"- alert: (\w+)\n\s+expr: (.*?)\n\s+(?:for|labels):", text, re.S):
        for series in re.findall(
                r"\b(?:forefetch|process)_\w+(?:{[^}]*})?|\bup{[^}]*}", expr):
            yield name, series


class Dashboard(daemon.Case):
    def setUp(self):
        for program in ("prometheus", "promtool"):
            if not shutil.which(program):
                self.skipTest("no %s here (package prometheus)" % program)
        self.scraped = fakeserver.free_port()
        super().setUp()
        self.port = fakeserver.free_port()
        self.dir = tempfile.mkdtemp(prefix="ff-prometheus-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def start_daemon(self, **kw):
        return super().start_daemon(
            daemon={"metrics_listen": "127.0.0.1:%d" % self.scraped}, **kw)

    def start_prometheus(self):
        conf = os.path.join(self.dir, "prometheus.yml")
        with open(conf, "w") as f:
            f.write(CONFIG % (os.path.abspath(RULES), self.scraped))
        log = open(os.path.join(self.dir, "log"), "w")
        self.addCleanup(log.close)
        p = subprocess.Popen(
            ["prometheus", "--config.file", conf,
             "--storage.tsdb.path", os.path.join(self.dir, "data"),
             "--web.listen-address", "127.0.0.1:%d" % self.port],
            stdout=log, stderr=log)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)

    def query(self, expr):
        url = "http://127.0.0.1:%d/api/v1/query?%s" % (
            self.port, urllib.parse.urlencode({"query": expr}))
        try:
            with urllib.request.urlopen(url, timeout=10) as res:
                return json.load(res)["data"]["result"]
        except urllib.error.HTTPError as e:
            if e.code == 503: # it is not ready yet
                return None
            raise AssertionError("%s: %s" % (expr, e.read().decode()))
        except OSError:
            return None

    def use(self):
        with self.connect() as c:
            for name in (b"a", b"b", b"a", b"no-such-name"):
                c.call(rpc.LOOKUP, rpc.lookup_args(name))
                c.call(rpc.GETATTR, opaque(rpc.ROOT))
                c.call(rpc.READ, rpc.read_args())

    def test_every_expression_has_data(self):
        self.use()
        self.start_prometheus()
        poll(lambda: self.query('forefetch_up{server="nas"} == 1'),
             "Prometheus has scraped", 40)
        self.use()
        poll(lambda: self.query("rate(forefetch_servers[1m])"),
             "it has scraped twice", 40)
        asked = 0
        for title, expr in dashboard():
            for name, value in (("$__rate_interval", "1m"), ("$server", ".*"),
                                ("$instance", ".*"), ("$job", "forefetch")):
                expr = expr.replace(name, value)
            self.assertNotIn("$", expr)
            self.assertTrue(self.query(expr), "%s: %s" % (title, expr))
            asked += 1
        self.assertGreater(asked, 40)
        names = set()
        for name, series in rules():
            self.assertTrue(self.query(series), "%s: %s" % (name, series))
            names.add(name)
        self.assertGreaterEqual(len(names), 9)
        self.assertEqual(self.query('ALERTS{alertstate="firing"}'), [])

    def test_rules(self):
        subprocess.run(["promtool", "check", "rules", RULES], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["promtool", "test", "rules", os.path.join(
            CONFIGS, os.pardir, "tests", "prometheus",
            "forefetch.rules.test.yml")], check=True,
            stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    daemon.main()
