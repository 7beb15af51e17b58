#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# seeds.sh DIR GIT NEXT OLD NEW: small trees for the jobs of bench/run, into DIR
#   repo    a repository of 400 files of git's source (GIT), two branches
#   index   its documentation      ld     objects of its C files
#   zstd    old and new: the library zstd of two packages (OLD, NEW, .tgz), and
#           andrew, a part of it   login  a home directory
#   read-1m a file of 8 MiB
# NEXT is how many files the branch `next` changes.
set -eu
# shellcheck disable=SC2034 # `for v in old new` takes them by their names
dir=$1 git=$2 next=$3 old=$4 new=$5

export GIT_CONFIG_NOSYSTEM=1 HOME=$dir
export GIT_AUTHOR_NAME=user GIT_AUTHOR_EMAIL=user@example.org
export GIT_COMMITTER_NAME=user GIT_COMMITTER_EMAIL=user@example.org

# commit N MESSAGE
commit() {
	GIT_AUTHOR_DATE="2024-12-01 12:00:$1 +0000" \
		GIT_COMMITTER_DATE="2024-12-01 12:00:$1 +0000" \
		git -c gc.auto=0 commit -q -m "$2"
}

make_repo() {
	local part n=10
	mkdir "$dir/repo"
	cd "$dir/repo"
	git init -q -b main .
	for part in xdiff ewah refs reftable trace2 negotiator block-sha1 \
		sha1dc t/helper builtin; do
		mkdir -p "$part"
		cp -r "$git/$part/." "$part"
		git add -A -f "$part"
		commit $((n++)) "Add $part"
	done
	cp "$git"/*.h .
	git add -A -f .
	commit $((n++)) "Add headers"
	git checkout -q -b next
	find builtin refs -name '*.c' | LC_ALL=C sort | head -n "$next" |
		while read -r f; do echo '/* next */' >>"$f"; done
	git add -A
	commit $((n++)) "Change $next files"
	git checkout -q main
	git repack -q -a -d
}

make_objects() {
	local f
	mkdir "$dir/ld"
	cd "$git"
	for f in *.c refs/*.c ewah/*.c xdiff/*.c; do
		echo "$f"
	done | OUT=$dir/ld xargs -P 2 -n 1 sh -c '
		gcc -O0 -g -w -c -I. -DSHA1_DC -DSHA1DC_NO_STANDARD_INCLUDES=1 \
			-DSHA256_BLK -DNO_OPENSSL -DGIT_HOST_CPU="\"x\"" \
			-DPAGER_ENV="\"x\"" -DETC_GITCONFIG="\"x\"" \
			-DDEFAULT_GIT_TEMPLATE_DIR="\"x\"" "$0" -o \
			"$OUT/$(echo "$0" | tr / _).o" 2>/dev/null || :'
	# Of two that have the same names, one.
	cd "$dir/ld"
	rm -f common-main.c.o
	ls | LC_ALL=C sort | while read -r f; do
		so_far=()
		[ ! -e ../all.o ] || so_far=(../all.o)
		ld -r -o ../all.new "${so_far[@]}" "$f" \
			2>/dev/null && mv ../all.new ../all.o || rm "$f"
	done
	rm -f ../all.o ../all.new
}

make_zstd() {
	local v
	mkdir -p "$dir/zstd/andrew"
	for v in old new; do
		mkdir -p "$dir/x"
		tar -xzf "${!v}" -C "$dir/x"
		mv "$dir/x/package/deps/zstd/lib" "$dir/zstd/$v"
		rm -rf "$dir/x"
		# Sources for old formats, or in assembler, are not built.
		rm -rf "$dir/zstd/$v"/{legacy,deprecated,dll}
	done
	cp -r "$dir/zstd/old"/{common,decompress,*.h} "$dir/zstd/andrew"
}

# Names and sizes as in somebody's home; the text means nothing.
make_home() {
	python3 - "$dir/login" <<'END'
import os, random, sys
chance = random.Random(2007)
def put(path, size):
    path = os.path.join(sys.argv[1], path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(chance.randbytes(size // 2).hex().encode())
for name in (".profile", ".bashrc", ".inputrc"):
    put(name, 3000)
put(".bash_history", 60000)
for i in range(20):
    put(".bashrc.d/%02d.sh" % i, 800)
for i in range(60):
    put(".config/app%02d/settings.conf" % i, chance.choice([400, 2000, 9000]))
    if i % 3 == 0:
        put(".config/app%02d/state.conf" % i, 1200)
for i in range(40):
    put(".local/share/applications/app%02d.desktop" % i, 600)
for i in range(60):
    put(".local/share/icons/%d/app%02d.png" % (i % 4, i), 7000)
END
}

make_big() {
	mkdir "$dir/read-1m"
	python3 -c 'import random, sys
open(sys.argv[1], "wb").write(random.Random(1).randbytes(8 << 20))' \
		"$dir/read-1m/big"
}

make_repo
cp -r "$git/Documentation" "$dir/index"
find "$dir/index" -type f ! -name '*.txt' -delete
make_objects
make_zstd
make_home
make_big
