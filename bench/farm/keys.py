#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many keys of a farm in one Redis server: keys.py HOST KEYS.

Prints lines `keys what=WHAT value=NUMBER` for table.py: what a key takes beside
its value, what values of several sizes take in all, and who is evicted first
where there is no room any more. It empties the server first.
"""
import base64
import hashlib
import os
import socket
import sys

BATCH = 1000    # commands that are sent at once
SMALL = 100     # bytes of a value: a million of 64 KiB would be 64 GB
SEALED = 24 + 16        # nonce and tag, in front of and behind a value
SIZES = {"64K": 65536, "256K": 262144, "1M": 1048576}


class Redis:
    def __init__(self, host, port=6379):
        self.sock = socket.create_connection((host, port), timeout=120)
        self.file = self.sock.makefile("rb")

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else \
                self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(max(int(rest), 0))]
        return rest

    def send(self, commands):
        """Replies of commands, of which each is a tuple of bytes."""
        parts = []
        for words in commands:
            parts.append(b"*%d\r\n" % len(words))
            parts += [b"$%d\r\n%b\r\n" % (len(w), w) for w in words]
        self.sock.sendall(b"".join(parts))
        return [self.reply() for _ in commands]

    def ask(self, *words):
        return self.send([words])[0]

    def time_s(self):
        return int(self.ask(b"TIME")[0])

    def memory(self):
        for line in self.ask(b"INFO", b"memory").split(b"\r\n"):
            if line.startswith(b"used_memory:"):
                return int(line.split(b":")[1])
        raise RuntimeError("INFO memory says nothing")


def key(number):
    """As seal_name() makes them: a hash of 24 bytes, as base64."""
    digest = hashlib.blake2b(b"%d" % number, digest_size=24).digest()
    return b"ff:AbC123:d:" + base64.urlsafe_b64encode(digest)


def batches(numbers):
    for i in range(0, len(numbers), BATCH):
        yield numbers[i:i + BATCH]


def put(redis, numbers, value):
    for part in batches(numbers):
        redis.send([(b"SET", key(n), value) for n in part])


def get(redis, numbers):
    """How many of them are there. They count as used then."""
    return sum(1 for part in batches(numbers) for v in redis.send(
        [(b"GET", key(n)) for n in part]) if v is not None)


def kept(redis, numbers):
    """The same, without using them."""
    return sum(sum(redis.send([(b"EXISTS", key(n)) for n in part]))
               for part in batches(numbers))


def say(what, value):
    print("keys what=%s value=%s" % (what, value), flush=True)


def overhead(redis, count):
    redis.ask(b"FLUSHALL")
    before = redis.memory()
    put(redis, range(count), os.urandom(SMALL))
    each = (redis.memory() - before) / count
    say("count", count)
    say("small-value", SMALL)
    say("memory-each", "%.1f" % each)
    say("beside-value", "%.1f" % (each - SMALL))


def sizes(redis):
    """Prints how many bytes the server's allocator takes for values of the
    farm's sizes."""
    for name, size in SIZES.items():
        redis.ask(b"FLUSHALL")
        before = redis.memory()
        count = max((32 << 20) // size, 16)
        for n in range(count):
            redis.ask(b"SET", key(n), os.urandom(size + SEALED))
        each = (redis.memory() - before) / count
        say("value-%s" % name, "%.0f" % each)


def eviction(redis, count):
    """Three groups of equal size: old and unused since, old and read lately,
    new. Then as many again come as one group has, into a full server."""
    group = count // 4
    old, read, new, more = (range(i * group, (i + 1) * group)
                            for i in range(4))
    redis.ask(b"FLUSHALL")
    value = os.urandom(SMALL)
    put(redis, old, value)
    put(redis, read, value)
    # Redis counts idle time in seconds.
    wait_s(redis, 2)
    put(redis, new, value)
    get(redis, read)
    wait_s(redis, 2)
    redis.ask(b"CONFIG", b"SET", b"maxmemory-policy", b"allkeys-lru")
    redis.ask(b"CONFIG", b"SET", b"maxmemory", b"%d" % redis.memory())
    put(redis, more, value)
    for name, numbers in (("old", old), ("read", read), ("new", new),
                          ("last", more)):
        say("kept-" + name, "%.4f" % (kept(redis, numbers) / group))


def wait_s(redis, seconds):
    """By the server's own clock."""
    end = redis.time_s() + seconds
    while redis.time_s() < end:
        redis.ask(b"BLPOP", b"ff-none", b"0.2")


def main():
    redis = Redis(sys.argv[1])
    count = int(sys.argv[2])
    overhead(redis, count)
    sizes(redis)
    eviction(redis, count)
    redis.ask(b"FLUSHALL")


if __name__ == "__main__":
    sys.exit(main())
