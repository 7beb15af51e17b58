# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 -m unittest discover -s bench/traces -p 'test_*.py'"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import fftrace                                              # noqa: E402


class WithTree(unittest.TestCase):
    """A tree: bin/tool, bin/run (#!), src/a.c, src/b.c, src/empty, links."""

    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.put("bin/tool", b"\x7fELF....", 0o755)
        self.put("bin/run", b"#!" + os.fsencode(self.root) +
                 b"/bin/tool -x\n", 0o755)
        self.put("bin/data", b"no program", 0o755)
        self.put("src/a.c", b"int a;\n")
        self.put("src/b.c", b"int b, c;\n")
        self.put("src/empty", b"")
        os.symlink("src", self.root + "/link")
        os.symlink("../src/a.c", self.root + "/bin/c")
        os.symlink("loop", self.root + "/loop")

    def put(self, name, data, mode=0o644):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, mode)

    def events(self, log, only=(), start=None):
        """strace's lines, R standing for the root -> short events."""
        tree = fftrace.Tree(self.root, only)
        recorder = fftrace.Recorder(tree, self.root, start)
        lines = log.replace("R/", self.root + "/").replace(
            "R>", self.root + ">").splitlines()
        for call in fftrace.parse_log(lines):
            recorder.feed(call)
        self.last = recorder.events
        return [(e.kind, e.path) for e in recorder.events]


class TestLog(unittest.TestCase):
    def test_plain_call(self):
        call, = fftrace.parse_log(
            ['7 12.5 access("/x", R_OK) = -1 ENOENT (No such file)\n'])
        self.assertEqual((call.time, call.tid, call.name, call.result,
                          call.error), (12.5, 7, "access", -1, "ENOENT"))

    def test_unfinished_call_keeps_its_beginning(self):
        calls = fftrace.parse_log([
            '7 1.0 openat(AT_FDCWD</w>, "a", O_RDONLY <unfinished ...>',
            '8 2.0 access("/x", R_OK) = 0',
            '7 3.0 <... openat resumed>) = 3</w/a>'])
        self.assertEqual([(c.name, c.time) for c in calls],
                         [("openat", 1.0), ("access", 2.0)])
        self.assertEqual(calls[0].result, 3)

    def test_what_is_not_a_call_is_passed_over(self):
        self.assertEqual(fftrace.parse_log([
            "", "rubbish", "7 1.0 +++ exited with 0 +++",
            "7 1.0 --- SIGCHLD {si_signo=SIGCHLD} ---",
            "7 1.0 <... read resumed>) = 3",
            "7 1.0 exit_group(0) = ?"]), [])

    def test_unescape(self):
        for text, path in ((r"a\"b", 'a"b'), (r"t\tn\n", "t\tn\n"),
                           (r"\303\251", "\u00e9"), (r"\x3e", ">")):
            self.assertEqual(fftrace.unescape(text), path)

    def test_paths_in_a_trace_have_no_tabs_or_breaks(self):
        self.assertEqual(fftrace.clean("a\tb\nc\\"), "a\\tb\\nc\\\\")


class TestEvents(WithTree):
    def test_open_and_read(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD<R>, "src/a.c", O_RDONLY) = 3<R/src/a.c>
7 1.1 read(3<R/src/a.c>, ""..., 4096) = 7
7 1.2 read(3<R/src/a.c>, "", 4096) = 0
"""), [("lookup", "src"), ("lookup", "src/a.c"), ("read", "src/a.c")])
        self.assertEqual(self.last[2], (100000, 1, "src/a.c", 7, 0, "read"))

    def test_each_use_counts_once(self):
        log = '7 1.0 stat("R/src/a.c", {st_mode=S_IFREG}) = 0\n'
        self.assertEqual(self.events(log * 3), [
            ("lookup", "src"), ("lookup", "src/a.c"), ("getattr", "src/a.c")])

    def test_opened_but_not_read(self):
        self.assertNotIn(("read", "src/a.c"), self.events(
            '7 1.0 openat(AT_FDCWD<R>, "src/a.c", O_RDONLY) = 3<R/src/a.c>'))

    def test_mapped_and_sent(self):
        self.assertEqual(self.events("""\
7 1.0 mmap(NULL, 99, PROT_READ, MAP_PRIVATE, 3<R/src/a.c>, 0) = 0x7f00
7 1.1 mmap(NULL, 99, PROT_READ, MAP_ANONYMOUS, -1, 0) = 0x7f00
7 1.2 sendfile(1<socket:[5]>, 4<R/src/b.c>, NULL, 99) = 10
"""), [("read", "src/a.c"), ("read", "src/b.c")])

    def test_empty_and_failed_reads(self):
        self.assertEqual(self.events("""\
7 1.0 read(3<R/src/empty>, "", 4096) = 0
7 1.1 mmap(NULL, 9, PROT_READ, MAP_PRIVATE, 3<R/src/empty>, 0) = 0x7f00
7 1.2 read(3<R/src/a.c>, 0x1, 9) = -1 EIO (Input/output error)
7 1.3 read(3<R/src>, 0x1, 9) = -1 EISDIR (Is a directory)
"""), [])

    def test_absent_names(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD<R>, "src/no.h", O_RDONLY) = -1 ENOENT (No such)
7 1.1 access("R/none/x/y", R_OK) = -1 ENOENT (No such file or directory)
"""), [("lookup", "src"), ("absent", "src/no.h"), ("absent", "none")])

    def test_links_are_followed(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD<R/bin>, "../link/a.c", O_RDONLY) = 3<R/src/a.c>
7 1.1 readlink("R/bin/c", "", 99) = 10
"""), [("lookup", "bin"), ("lookup", "link"), ("lookup", "src"),
            ("lookup", "src/a.c"), ("lookup", "bin/c")])

    def test_a_loop_of_links_ends(self):
        self.assertEqual(self.events(
            '7 1.0 stat("R/loop", 0x1) = -1 ELOOP (Too many)'),
            [("lookup", "loop")])

    def test_exec_and_interpreter(self):
        events = self.events(
            '7 1.0 execve("R/bin/run", ["R/bin/data"], 0x1 /* 9 vars */) = 0')
        self.assertEqual(events, [
            ("lookup", "bin"), ("lookup", "bin/run"), ("read", "bin/run"),
            ("lookup", "bin/tool"), ("read", "bin/tool")])
        self.assertEqual([e.exec for e in self.last], [0, 1, 1, 1, 1])

    def test_exec_bit_needs_a_program(self):
        self.events('7 1.0 read(3<R/bin/data>, ""..., 9) = 9')
        self.assertEqual(self.last[0].exec, 0)

    def test_listing(self):
        self.assertEqual(self.events("""\
7 1.0 getdents64(3<R/src>, 0x1 /* 5 entries */, 32768) = 144
7 1.1 getdents64(3<R/src>, 0x1 /* 0 entries */, 32768) = 0
7 1.2 getdents64(4<R>, 0x1 /* 5 entries */, 32768) = 144
"""), [("readdir", "src"), ("readdir", ".")])

    def test_outside_the_root(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD</>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>
7 1.1 read(3</etc/passwd>, ""..., 4096) = 99
7 1.2 access("/none", R_OK) = -1 ENOENT (No such file or directory)
"""), [])

    def test_only_a_subtree(self):
        self.assertEqual(self.events("""\
7 1.0 stat("R/src/a.c", {st_mode=S_IFREG}) = 0
7 1.1 stat("R/bin/tool", {st_mode=S_IFREG}) = 0
7 1.2 stat("R/bin/none", 0x1) = -1 ENOENT (No such file or directory)
7 1.3 stat("R/none", 0x1) = -1 ENOENT (No such file or directory)
""", only=["src"]), [("lookup", "src"), ("lookup", "src/a.c"),
                     ("getattr", "src/a.c"), ("lookup", "bin"),
                     ("absent", "none")])


class TestOwn(WithTree):
    """A file that the run wrote itself is no event."""

    def test_made(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD<R>, "new", O_WRONLY|O_CREAT, 0644) = 3<R/new>
7 1.1 openat(AT_FDCWD<R>, "new", O_RDONLY) = 3<R/new>
7 1.2 read(3<R/new>, ""..., 9) = 9
7 1.3 unlink("R/new") = 0
7 1.4 stat("R/new", 0x1) = -1 ENOENT (No such file or directory)
7 1.5 mkdir("R/dir", 0777) = 0
7 1.6 stat("R/dir/x", 0x1) = -1 ENOENT (No such file or directory)
7 1.7 getdents64(3<R/dir>, 0x1 /* 2 entries */, 32768) = 48
"""), [])

    def test_truncated(self):
        self.assertEqual(self.events("""\
7 1.0 openat(AT_FDCWD<R>, "src/a.c", O_WRONLY|O_TRUNC) = 3<R/src/a.c>
7 1.1 read(4<R/src/a.c>, ""..., 9) = 9
"""), [("lookup", "src"), ("lookup", "src/a.c")])

    def test_saved_by_rename(self):
        events = self.events("""\
7 1.0 rename("R/src/b.c", "R/src/a.c") = 0
7 1.1 read(4<R/src/a.c>, ""..., 9) = 9
7 1.2 stat("R/src/b.c", 0x1) = -1 ENOENT (No such file or directory)
""")
        self.assertEqual(events, [("lookup", "src"), ("lookup", "src/b.c"),
                                  ("lookup", "src/a.c")])


class TestProcesses(WithTree):
    def test_threads_and_children(self):
        self.events("""\
90 1.0 clone3({flags=CLONE_VM|CLONE_THREAD} <unfinished ...>
91 1.1 access("R/src/a.c", R_OK) = 0
90 1.2 <... clone3 resumed> => {parent_tid=[91]}, 88) = 91
90 1.3 vfork() = 92
92 1.4 access("R/src/b.c", R_OK) = 0
""")
        self.assertEqual([(e.path, e.pid) for e in self.last
                          if e.kind == "getattr"],
                         [("src/a.c", 1), ("src/b.c", 2)])

    def test_working_directory_is_inherited(self):
        self.assertIn(("getattr", "src/b.c"), self.events("""\
90 1.0 chdir("R/src") = 0
90 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 92
92 1.2 access("b.c", R_OK) = 0
"""))

    def test_directory_of_a_call(self):
        self.assertIn(("getattr", "src/b.c"), self.events("""\
90 1.0 newfstatat(5<R/src>, "b.c", {st_mode=S_IFREG}, 0) = 0
90 1.1 newfstatat(5<R/src/a.c>, "", {st_mode=S_IFREG}, AT_EMPTY_PATH) = 0
"""))


@unittest.skipUnless(shutil.which("strace"), "needs strace")
class TestCommand(WithTree):
    def capture(self, *args):
        return subprocess.run([os.path.join(HERE, "capture")] + list(args),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)

    def test_a_real_command(self):
        done = self.capture("--root", self.root, "--label", "cat", "--run",
                            "3", "--", "cat", self.root + "/src/a.c",
                            self.root + "/none")
        rows = [line.split("\t") for line in done.stdout.splitlines()
                if line.count("\t")]
        self.assertEqual(done.returncode, 1)
        self.assertEqual([(r[4], r[7] if len(r) > 7 else "read")
                          for r in rows if r[4] != "none"],
                         [("src", "lookup"), ("src/a.c", "lookup"),
                          ("src/a.c", "read")])
        self.assertEqual(rows[2][:2] + rows[2][3:], [
            "3", "cat", "1", "src/a.c", "7", "0"])
        self.assertIn(["none", "0", "0", "absent"], [r[4:] for r in rows])

    def test_bad_arguments(self):
        for args in ([], ["--root", "/none", "true"],
                     ["--label", "a\tb", "true"]):
            self.assertEqual(self.capture(*args).returncode, 2)


if __name__ == "__main__":
    unittest.main()
