#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the tables of calls, from fields as tshark prints them."""
import contextlib
import io
import unittest

import calls


def packet(at, xid, kind, proc="", name="", offset="", handle="", entries="",
           program="100003"):
    """Fields of one packet; a list of several calls has commas."""
    return [f.split(",") for f in (str(at), "1", xid, kind, proc, program,
                                   name, offset, handle, entries)]


class Calls(unittest.TestCase):
    def test_a_call_and_its_reply(self):
        found = calls.read_calls([
            packet(10.0, "a", "0", "3", "x.h"),
            packet(10.04, "a", "1", name="x.h")])
        self.assertEqual(len(found), 1)
        begin, took, proc, name, offset = found[0]
        self.assertEqual((begin, proc, name, offset), (0, "LOOKUP", "x.h",
                                                       "-"))
        self.assertAlmostEqual(took, 0.04)

    def test_names_from_a_listing(self):
        listing = [packet(1, "a", "0", "17", handle="d"),
                   packet(2, "a", "1", handle="h1,h2",
                          entries="x.h,..,y.c,.")]
        found = calls.read_calls(listing + [
            packet(3, "b", "0", "6", handle="h2", offset="16384"),
            packet(4, "b", "1")])
        self.assertEqual(found[1][2:], ("READ", "y.c", "16384"))

    def test_a_listing_that_does_not_fit_teaches_nothing(self):
        listed = {}
        calls.learn(listed, ["h1"], ["x", "y"])
        self.assertEqual(listed, {})
        calls.learn(listed, ["h0", "h1"], [".", "y"])
        self.assertEqual(listed, {"h1": "y"})

    def test_what_is_not_there(self):
        found = calls.read_calls([packet(1, "a", "0", "3", "x.h"),
                                  packet(2, "a", "1")])
        self.assertEqual(found[0][3], "x.h ?")
        self.assertEqual(calls.kind_of(found[0][3]), "(absent)")

    def test_several_calls_in_one_packet(self):
        found = calls.read_calls([
            packet(1, "a,b", "0,0", "1,4", "x,y", program="100003,100003"),
            packet(2, "b", "1"), packet(3, "a", "1")])
        self.assertEqual([(f[2], f[3]) for f in found],
                         [("ACCESS", "several"), ("GETATTR", "several")])

    def test_other_programs_do_not_count(self):
        self.assertEqual(calls.read_calls([
            packet(1, "a", "0", "1", program="100005"),
            packet(2, "a", "1")]), [])

    def test_kinds(self):
        for name, kind in (("a/b.js", ".js"), ("libx.so.1.2", ".so"),
                           ("Makefile", "(no ending)"),
                           (".bashrc", "(no ending)"), ("", "(no ending)"),
                           ("x.cpython-311.pyc", ".pyc")):
            self.assertEqual(calls.kind_of(name), kind, name)

    def test_a_table(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            calls.print_table("/d/x.pcap", [
                (0, 0.04, "READ", "a.js", "0"),
                (0.1, 0.05, "READ", "a.js", "16384"),
                (0.2, 0.001, "READ", "b.js", "0")], 0.005)
        self.assertIn("x.pcap: 3 calls in 0.20 s", out.getvalue())
        self.assertIn("0.05 s      1  READ further on  .js", out.getvalue())
        self.assertIn("0.04 s      1  READ             .js", out.getvalue())


if __name__ == "__main__":
    unittest.main()
