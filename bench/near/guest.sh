# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The part of bench/near/run that runs in the lab's guest.
set -eu
near=$LAB_EXPORT/near
many=20000 # files of the directory that is listed
big=150    # MB that are read, and two thirds of it written
mkdir -p "$near/files"
python3 "$LAB_ROOT/bench/near/jobs.py" files "$near/files" $many

# Names differ from run to run, so that each makes new ones.
fresh() { job=$(mktemp -d ./XXXXXX); }
make() { fresh; python3 "$LAB_ROOT/bench/near/jobs.py" "$1" "$job" "${@:2}"; }

pair_ls() { lab_pair -b -n "$RUNS" -d near/files "ls -l" -- ls -l; }
pair_find() { lab_pair -b -n "$RUNS" -d near "find" -- find . -newer files; }

pair_random() {
	head -c 32M /dev/urandom >"$near/random"
	lab_pair -b -n "$RUNS" -d near "random 4 KiB" -- \
		python3 "$LAB_ROOT/bench/near/jobs.py" random random 2000
}

sources() { tar -C "$LAB_ROOT" -c proxy predictor docs; }
untar() { fresh; tar -C "$job" -xf /run/lab/near.tar; }
pair_untar() {
	sources >/run/lab/near.tar
	lab_pair -b -n "$RUNS" -d near "untar" -- untar
}

clone() { fresh; git clone -q --no-hardlinks /run/lab/near.git "$job/clone"; }
pair_clone() {
	git init -q /run/lab/near
	sources | tar -C /run/lab/near -x
	git -C /run/lab/near add .
	git -C /run/lab/near -c user.name=near -c user.email=near@localhost \
		commit -q -m near
	git clone -q --bare /run/lab/near /run/lab/near.git
	lab_pair -b -n "$RUNS" -d near "git clone" -- clone
}

pair_npm() { lab_pair -b -n "$RUNS" -d near "npm-like creation" -- make npm; }
pair_create() { lab_pair -b -n "$RUNS" -d near "create 1500" -- make create 1500; }
pair_sqlite() { lab_pair -b -n "$RUNS" -d near "sqlite, delete" -- make sqlite delete; }
pair_truncate() { lab_pair -b -n "$RUNS" -d near "sqlite, truncate" -- make sqlite truncate; }

# Other bytes each time: neither side has them.
renew() { head -c ${big}M /dev/urandom >"$near/big"; }
pair_read() {
	lab_pair -b -n "$RUNS" -d near -p renew "read $big MB" -- \
		dd if=big of=/dev/null bs=1M status=none
}
pair_write() {
	lab_pair -b -n "$RUNS" -d near "write $((big * 2 / 3)) MB" -- \
		dd if=/dev/zero of=written bs=1M count=$((big * 2 / 3)) \
		conv=fsync status=none
}

for name in $JOBS; do "pair_$name"; done
