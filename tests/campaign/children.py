# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that a campaign runs: within a time, and to an end when a signal asks for it."""
import os
import signal
import subprocess
import time

POLL_S = 0.5
# A guest of the lab needs some seconds to clear up.
GRACE_S = 30
KEPT_BYTES = 4 << 20


class Stop:
    """Whether a signal has asked for the end."""

    def __init__(self):
        self.asked = False

    def install(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_signal)
        # nohup wants it to go on.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self.on_signal)

    def on_signal(self, _number, _frame):
        self.asked = True


class Result:
    """The end of one program. `cut`: its end is not its own doing, and then `status`
    says nothing; `hung`: it took longer than its limit; `stopped`: a signal to the
    campaign has cut it, which says nothing of how long it takes."""

    def __init__(self, status, out="", err="", seconds=0.0, cut=False, hung=False,
                 stopped=False):
        self.status, self.out, self.err = status, out, err
        self.seconds, self.cut, self.hung, self.stopped = seconds, cut, hung, stopped

    def last_line(self):
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1].strip()[:300] if lines else "it said nothing"


class Child:
    """One program, in a session of its own: Ctrl-C reaches the campaign alone, and
    one kill reaches all that the program has started."""

    def __init__(self, command, log):
        self.paths = (log + ".out", log + ".err")
        self.began = time.monotonic()
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, start_new_session=True)

    def over(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def signal(self, number):
        """False where none of its processes is left."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def end(self):
        """Waits for all that the program has started, which may need longer than
        itself: the lab under tests/e2e/run removes its images."""
        self.signal(signal.SIGTERM)
        until = time.monotonic() + GRACE_S
        while self.process.poll() is None or self.signal(0):
            if time.monotonic() > until:
                self.signal(signal.SIGKILL)
                break
            time.sleep(0.05)
        self.process.wait()

    def result(self, cut, hung, stopped):
        out, err = (tail(path) for path in self.paths)
        return Result(self.process.returncode, out, err,
                      time.monotonic() - self.began, cut, hung, stopped)


def tail(path):
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - KEPT_BYTES))
        return f.read().decode(errors="replace")


def run(commands, limit, until, stop, log):
    """Runs them at once; a Result each. Ends them at `stop`, at the time `until`, and
    after `limit` seconds, which is longer than they take when all is well."""
    children, results = [], []
    hang_at = time.monotonic() + limit
    try:
        for n, command in enumerate(commands):
            children.append(Child(command, "%s-%d" % (log, n)))
        for child in children:
            results.append(wait(child, hang_at, until, stop))
    except OSError as e:
        # A program that is not there any more, or no room for what it says.
        return [Result(127, err="%s: %s" % (commands[0][0], e.strerror))] * len(commands)
    finally:
        for child in children[len(results):]:
            child.end()
    return results


def wait(child, hang_at, until, stop):
    while not child.over(POLL_S):
        now = time.monotonic()
        if stop.asked or now >= until or now >= hang_at:
            stopped = stop.asked
            child.end()
            return child.result(True, now >= hang_at and not stopped, stopped)
    # A program that a signal of ours has ended was cut, too.
    stopped = stop.asked and child.process.returncode != 0
    return child.result(stopped, False, stopped)
