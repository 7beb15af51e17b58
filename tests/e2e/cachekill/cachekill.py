#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cachekill.py make DIR N               files whose bytes follow from their names
cachekill.py load MOUNT STOP SEED     read and write there until STOP exists
cachekill.py verify MOUNT             read all; every byte must be right
cachekill.py spoil CACHE HOW SEED     flip, garbage, truncate, head or owner
"""
import hashlib
import os
import random
import sys

SIZES = (0, 100, 4096, 16384, 70000, 300000, 1200000)


def contents(name, version, size):
    """Every 32 bytes name file, version and place."""
    head = hashlib.sha256(("%s %d" % (name, version)).encode()).digest()[:24]
    words = (size + 31) // 32
    return b"".join(head + i.to_bytes(8, "big") for i in range(words))[:size]


def make(top, n):
    os.makedirs(top)
    for i in range(n):
        name = "f%d" % i
        with open("%s/%s" % (top, name), "wb") as f:
            f.write(contents(name, 0, SIZES[i % len(SIZES)]))


def read_uncached(path, first=0, count=-1):
    """Not from this client's page cache."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        size = os.fstat(fd).st_size
        want = size - first if count < 0 else count
        out = b""
        while len(out) < want:
            part = os.pread(fd, want - len(out), first + len(out))
            if not part:
                break
            out += part
        return out
    finally:
        os.close(fd)


def check(path, got, want):
    if got == want:
        return
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b),
              min(len(got), len(want)))
    sys.exit("%s: %d bytes, want %d; differs at %d" % (
        path, len(got), len(want), at))


def turn_read(top, rng, n):
    i = rng.randrange(n)
    name, size = "f%d" % i, SIZES[i % len(SIZES)]
    first = rng.randrange(size) if size and rng.random() < 0.5 else 0
    count = rng.choice((1, 4096, 16384, 100000, size))
    path = "%s/%s" % (top, name)
    check(path, read_uncached(path, first, count),
          contents(name, 0, size)[first:first + count])


def turn_write(top, rng, mine, seed):
    """A new version of one of our own files, in place; and what was
    acknowledged is read back."""
    name = "w%d-%d" % (seed, rng.randrange(6))
    version, size = mine.get(name, 0) + 1, rng.choice(SIZES)
    path = "%s/%s" % (top, name)
    with open(path, "wb") as f:
        f.write(contents(name, version, size))
        f.flush()
        os.fsync(f.fileno())
    mine[name] = version
    check(path, read_uncached(path), contents(name, version, size))


def load(top, stop, seed):
    rng, mine, turns = random.Random(seed), {}, 0
    n = sum(name.startswith("f") for name in os.listdir(top))
    while not os.path.exists(stop):
        if rng.random() < 0.7:
            turn_read(top, rng, n)
        else:
            turn_write(top, rng, mine, seed)
        turns += 1
        with open("%s.%d" % (stop, seed), "w") as f:
            f.write("%d\n" % turns)
    print("%d reads and writes, all right" % turns)


def verify(top):
    total = 0
    for name in sorted(os.listdir(top)):
        if name.startswith("f"):
            size = SIZES[int(name[1:]) % len(SIZES)]
            data = read_uncached("%s/%s" % (top, name))
            check(name, data, contents(name, 0, size))
            total += len(data)
    print("%d bytes, all right" % total)


def cache_files(top):
    """Not the lab's own images, which lie there as well."""
    for where, dirs, files in os.walk(top):
        for f in files:
            path = os.path.join(where, f)
            if not f.startswith(".disk-") and os.path.isfile(path):
                yield path


def spoil_one(path, how, rng):
    size = os.path.getsize(path)
    if how == "owner":
        os.chown(path, 3001, 3001)
    elif how == "truncate":
        os.truncate(path, rng.randrange(size + 1))
    elif how == "garbage":
        with open(path, "wb") as f:
            f.write(rng.randbytes(min(size, 1 << 20) or 100))
    elif size:
        # flip: all over; head: where magic and version are.
        spots = [rng.randrange(size) for _ in range(1 + size // 8192)]
        if how == "head":
            spots = [i for i in range(min(size, 16))]
        with open(path, "r+b") as f:
            for at in spots:
                f.seek(at)
                byte = f.read(1)[0] ^ (1 << rng.randrange(8))
                f.seek(at)
                f.write(bytes([byte]))


def spoil(top, how, seed):
    rng, n = random.Random(seed), 0
    for path in list(cache_files(top)):
        spoil_one(path, how, rng)
        n += 1
    if how == "owner":
        for where, dirs, _ in os.walk(top):
            for d in dirs:
                os.chown(os.path.join(where, d), 3001, 3001)
    print("%d files of the cache: %s" % (n, how))


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "make":
        make(args[0], int(args[1]))
    elif what == "load":
        load(args[0], args[1], int(args[2]))
    elif what == "verify":
        verify(args[0])
    elif what == "spoil":
        spoil(args[0], args[1], int(args[2]))
    else:
        sys.exit(__doc__)


main()
