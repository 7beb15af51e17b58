#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""impostor.py PORT DIR: tries to listen on a port of the daemon, for ever.

DIR/tries: how often until now; DIR/got is there once it succeeded.
"""
import os
import socket
import sys
import time


def get(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", port))
        s.listen()
    except OSError:
        return False
    finally:
        s.close()
    return True


def main():
    port, where = int(sys.argv[1]), sys.argv[2]
    tries = 0
    while True:
        if get(port):
            open(os.path.join(where, "got"), "w").close()
        tries += 1
        if tries % 10 == 1:
            new = os.path.join(where, "new")
            with open(new, "w") as f:
                f.write(str(tries))
            os.rename(new, os.path.join(where, "tries"))
        time.sleep(0.002)  # there is one processor


if __name__ == "__main__":
    main()
