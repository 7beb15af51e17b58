# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of consistency.py, which knows what was true when.

Every object, and every name in a directory, has a chain of states.  A state
begins with a change, whose effect on the server lies somewhere between `send`
(taken before it was sent) and `reply` (taken after its reply).  So state i may
be seen by who looks between send[i] and reply[i+1].

An answer to a call in [t_sent, t_reply] is explained by a state that was true
at some moment in [t_sent - bound, t_reply], and not before the last change of
the client's own whose reply had come before t_sent.
"""
import bisect
import collections
import struct

INF = float("inf")
PAGE = 4096
REG, DIR, LNK = 1, 2, 5

# times: (mtime, ctime) where they are known for sure, else None.
State = collections.namedtuple("State", "mode nlink size pages times gone")


class Violation(Exception):
    pass


class Event:
    """A change that began a state.  own: the proxy's client made it, and the
    proxy could know that it touches this object."""
    __slots__ = "send reply own state torn what".split()

    def __init__(self, send, own, state, what):
        self.send, self.reply, self.own, self.state = send, INF, own, state
        # A READ was under way meanwhile: the server itself may have given
        # data from before it with attributes, or other pages, from after it.
        self.torn = False
        self.what = what


class Window:
    """Which states of a chain may explain an answer."""

    def __init__(self, t_sent, t_reply, bound):
        self.t_sent, self.t_reply, self.lo = t_sent, t_reply, t_sent - bound

    def states(self, chain, floor=0):
        first = floor
        for i, e in enumerate(chain):
            if e.own and e.reply <= self.t_sent:
                first = max(first, i)
        out = []
        for i in range(first, len(chain)):
            if chain[i].send > self.t_reply:
                break
            if i + 1 < len(chain) and chain[i + 1].reply < self.lo:
                continue
            out.append(i)
        return out

    def age(self, chain, i):
        """How long before t_sent state i was certainly over; 0: it was not."""
        if i + 1 >= len(chain):
            return 0
        return max(0, self.t_sent - chain[i + 1].reply)


# ---- contents ---------------------------------------------------------------

def pattern(tag, offset, count):
    """The bytes that write number `tag` puts there: every 8 bytes name it."""
    first, last = offset // PAGE, (offset + count - 1) // PAGE
    data = b"".join(struct.pack(">II", tag, page) * (PAGE // 8)
                    for page in range(first, last + 1))
    return data[offset - first * PAGE:][:count]


def content_read(state, offset, count):
    count = max(0, min(count, state.size - offset))
    if count == 0:
        return b""
    first, last = offset // PAGE, (offset + count - 1) // PAGE
    data = b"".join(state.pages[first:last + 1])
    return data[offset - first * PAGE:][:count]


def content_resize(state, size):
    pages = list(state.pages)
    need = (size + PAGE - 1) // PAGE
    del pages[need:]
    pages += [bytes(PAGE)] * (need - len(pages))
    if size % PAGE and need:
        keep = min(size, state.size) - (need - 1) * PAGE
        if 0 <= keep < PAGE:
            pages[-1] = pages[-1][:keep] + bytes(PAGE - keep)
    return state._replace(size=size, pages=tuple(pages))


def content_write(state, offset, data):
    if offset + len(data) > state.size:
        state = content_resize(state, offset + len(data))
    pages, pos = list(state.pages), 0
    while pos < len(data):
        page, at = divmod(offset + pos, PAGE)
        part = data[pos:pos + PAGE - at]
        pages[page] = pages[page][:at] + part + pages[page][at + len(part):]
        pos += len(part)
    return state._replace(pages=tuple(pages))


# ---- objects ----------------------------------------------------------------

class Obj:
    def __init__(self, kind, ident, target=b""):
        self.kind, self.ident, self.target = kind, ident, target
        self.fh = self.fileid = None
        self.chain = []
        self.links = set()      # (directory, name), now
        self.names = {}         # of a directory: name -> chain of (Obj, None)
        self.entries = {}       # of a directory: name -> Obj, now
        self.parent = None      # of a directory
        self.seen = {}

    def __repr__(self):
        return "%s%d" % ({REG: "file", DIR: "dir", LNK: "link"}[self.kind],
                         self.ident)

    @property
    def state(self):
        return self.chain[-1].state

    def push(self, t, own, what, **changes):
        changes.setdefault("times", None)
        event = Event(t, own, self.state._replace(**changes), what)
        self.chain.append(event)
        return event

    def bind(self, name, obj, t, own, what):
        """Says which object a name means from now on; None: it is absent."""
        chain = self.names.setdefault(name, [])
        if not chain: # absent since ever
            first = Event(-INF, False, None, "absent")
            first.reply = -INF
            chain.append(first)
        event = Event(t, own, obj, what)
        chain.append(event)
        if obj is None:
            del self.entries[name]
        else:
            self.entries[name] = obj
        return event

    def name_chain(self, name):
        if name in self.names:
            return self.names[name]
        first = Event(-INF, False, None, "absent")
        first.reply = -INF
        return [first]

    def floor(self, who, t_sent):
        """The state that this client had seen before it asked."""
        seen_at, seen = self.seen.setdefault(who, ([], []))
        k = bisect.bisect_right(seen_at, t_sent)
        return seen[k - 1] if k else 0

    def saw(self, who, t_reply, i):
        seen_at, seen = self.seen.setdefault(who, ([], []))
        if not seen or i > seen[-1]:
            seen_at.append(t_reply)
            seen.append(i)

    def attr_is(self, i, a):
        s = self.chain[i].state
        if s.gone:
            # A server that has a removed file open still answers for it.
            return a.nlink == 0 and a.type == self.kind and \
                (self.kind == DIR or a.size == s.size)
        return (a.type == self.kind and a.mode & 0o7777 == s.mode and
                a.nlink == s.nlink and
                (self.kind == DIR or a.size == s.size) and
                (s.times is None or s.times == (a.mtime, a.ctime)) and
                self.fileid in (None, a.fileid))


def torn_between(chain, i, j):
    """Did the server itself, perhaps, mix states i and j?"""
    lo, hi = min(i, j), max(i, j)
    return all(e.torn for e in chain[lo + 1:hi + 1])


# ---- the judge --------------------------------------------------------------

class Judge:
    """The bounds of one mode; counts what it judged."""

    def __init__(self, bound, negative_bound, eof_exact=True):
        self.bound, self.negative_bound = bound, negative_bound
        self.eof_exact = eof_exact
        self.judged = self.old = 0
        self.oldest = {"attributes": 0, "names": 0, "absences": 0, "data": 0}

    def note_age(self, what, w, chain, i):
        self.judged += 1
        age = w.age(chain, i)
        self.old += age > 0
        self.oldest[what] = max(self.oldest[what], age)

    def tell(self, what, w, chain, allowed, got):
        lines = ["%s: %s" % (what, got),
                 "  call sent at %.4f, reply at %.4f, bound %.3f s" % (
                     w.t_sent, w.t_reply, w.t_sent - w.lo)]
        for i in range(max(0, len(chain) - 8), len(chain)):
            e = chain[i]
            lines.append("  %s state %d from %.4f..%.4f%s%s %s: %s" % (
                "*" if i in allowed else " ", i, e.send, e.reply,
                " own" if e.own else "", " torn" if e.torn else "",
                e.what, describe(e.state)))
        raise Violation("\n".join(lines))

    def window(self, times, bound=None):
        return Window(*times, self.bound if bound is None else bound)

    def attr(self, obj, a, times, what, ordered=True, bound=None):
        """Attributes: a state within the bound, and never back in time."""
        if a is None:
            return
        w = self.window(times, bound)
        allowed = w.states(obj.chain)
        match = [i for i in allowed if obj.attr_is(i, a)]
        if not match:
            self.tell("%s of %r" % (what, obj), w, obj.chain, allowed,
                      "wrong or too old attributes " + describe(a))
        if ordered:
            back = obj.floor(self, w.t_sent)
            match = [i for i in match if i >= back]
            if not match:
                self.tell("%s of %r" % (what, obj), w, obj.chain, allowed,
                          "went back, state %d had been seen: %s" % (
                              back, describe(a)))
            obj.saw(self, w.t_reply, match[0])
        self.note_age("attributes", w, obj.chain, match[-1])

    def alive(self, obj, st, attr, times, what):
        """Was STALE, or its absence, right?  True if there is more to see."""
        w = self.window(times)
        allowed = w.states(obj.chain)
        wanted = st == 70
        if any(obj.chain[i].state.gone == wanted for i in allowed):
            return not wanted
        if not wanted and attr and attr.nlink == 0:
            return True
        self.tell("%s of %r" % (what, obj), w, obj.chain, allowed,
                  "status %d" % st)

    def name(self, d, name, times, what, fh=None, fileid=None):
        """A name means this handle (or file number), or is absent."""
        absent = fh is None and fileid is None
        w = self.window(times, self.negative_bound if absent else None)
        chain = d.name_chain(name)
        allowed = w.states(chain)
        match = []
        for i in allowed:
            o = chain[i].state
            if o is None or absent:
                if o is None and absent:
                    match.append(i)
            elif fh is not None and o.fh in (None, fh) or \
                    fh is None and o.fileid in (None, fileid):
                match.append(i)
        if not match:
            self.tell("%s of %s in %r" % (what, name, d), w, chain, allowed,
                      "absent" if absent else "found %r %r" % (fh, fileid))
        self.note_age("absences" if absent else "names", w, chain, match[-1])
        return [chain[i].state for i in match if chain[i].state]

    def data_is(self, obj, i, ask, r):
        s = obj.chain[i].state
        offset, count = ask
        if content_read(s, offset, count) != r["data"]:
            return False
        at_end = offset + len(r["data"]) >= s.size
        if r["eof"]:
            return at_end
        return not at_end or (not self.eof_exact and len(r["data"]) == count)

    def read(self, obj, ask, r, times):
        """Data of one version, and attributes of the same one."""
        w = self.window(times)
        chain = obj.chain
        allowed = w.states(chain)
        datas = [i for i in allowed if self.data_is(obj, i, ask, r)]
        attrs = [i for i in allowed
                 if r["attr"] is None or obj.attr_is(i, r["attr"])]
        both = [i for i in datas if i in attrs]
        if not both:
            both = [j for i in datas for j in attrs
                    if torn_between(chain, i, j)]
        if not both and attrs and self.torn_data(obj, allowed, ask, r):
            both = attrs
        if not both:
            self.tell("READ %d+%d of %r" % (*ask, obj), w, chain, allowed,
                      "%s; eof %d, attributes %s; data fit %r, attributes %r"
                      % (describe_data(r["data"]), r["eof"],
                         describe(r["attr"]), datas, attrs))
        self.note_age("data", w, chain, both[-1])

    def torn_data(self, obj, allowed, ask, r):
        """Each page from one of some states that the server may have mixed."""
        offset, data = ask[0], r["data"]
        used, pos = set(), 0
        while pos < len(data):
            n = PAGE - (offset + pos) % PAGE
            part = data[pos:pos + n]
            fit = [i for i in allowed if content_read(
                obj.chain[i].state, offset + pos, len(part)) == part]
            if not fit:
                return False
            used.add(fit[-1])
            pos += n
        return len(used) > 0 and torn_between(obj.chain, min(used), max(used))

    def reads_overlap(self, obj, t_sent, t_reply):
        for e in reversed(obj.chain):
            if e.reply < t_sent:
                break
            if e.send <= t_reply:
                e.torn = True


def describe(x):
    if x is None or isinstance(x, Obj):
        return repr(x)
    if isinstance(x, State):
        if x.gone:
            return "gone"
        return "mode %o nlink %d size %d times %s %s" % (
            x.mode, x.nlink, x.size, x.times,
            describe_data(b"".join(x.pages)[:x.size]))
    return "type %d mode %o nlink %d size %d mtime %s ctime %s" % (
        x.type, x.mode & 0o7777, x.nlink, x.size, x.mtime, x.ctime)


def describe_data(data):
    """Which writes it consists of."""
    out, last = [], None
    for pos in range(0, len(data) - 7, 8):
        tag = int.from_bytes(data[pos:pos + 4], "big")
        if tag != last and tag < 1 << 24:
            out.append("%d:w%d" % (pos, tag))
            last = tag
    return "%d bytes [%s]" % (len(data), " ".join(out[:12]))
