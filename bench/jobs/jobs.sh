# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# The jobs that guest.sh runs.  What they print must not depend on where the
# export is mounted, nor on time; what they write for themselves goes to
# $state/tmp, in memory.

# job_where JOB: its directory in the export
job_where() {
	case $1 in
	import | import-1) echo import ;;
	node | node-1) echo node ;;
	git | grep | grep-all | grep-500 | ls | build) echo git ;;
	*+*) echo . ;;
	filters) echo filters/4 ;;
	filters-*) echo "filters/${1#filters-}" ;;
	status | log | checkout | tree-grep | editor) echo seeds/repo ;;
	compile | compile-4 | compile-all | zstd | andrew-* | farm) echo seeds/zstd ;;
	ld | index | login | read-1m) echo "seeds/$1" ;;
	tex) echo tex/book ;;
	prettier | mkdocs | exiftool | ctags | closure) echo "$1" ;;
	asciidoctor) echo asciidoctor/book ;;
	esac
}

# The programs themselves are on the local disk: load them beforehand.
job_warm() {
	case $1 in
	import | import-1) "$JOBS_PYTHON" -c pass ;;
	node | node-1) "$JOBS_NODE" -e 0 ;;
	git | status | log | checkout) git --version ;;
	*+*) job_warm "${1%%+*}"; job_warm "${1#*+}" ;;
	grep* | tree-grep) grep --version ;;
	ls) ls -l / ;;
	build | compile* | zstd | andrew-make | farm)
		echo 'int main;' | gcc -O0 -c -xc - -o "$state/tmp/warm.o"
		size "$state/tmp/warm.o" ;;
	ld) ld --version; size --version ;;
	index | login | editor) "$JOBS_PYTHON" -c \
		'import collections, hashlib, os, re, sys' ;;
	filters*) warm_filters ;;
	andrew-*) cp --version; rm --version; ls --version; wc --version ;;
	read-1m) dd --version; sha256sum --version ;;
	tex)
		cat /usr/bin/pdflatex
		/usr/bin/pdflatex --version; sha256sum --version ;;
	prettier) "$JOBS_NODE" -e 0 ;;
	mkdocs) "$JOBS_PYTHON" -c 'import email, html, http, json, logging' ;;
	exiftool) perl -e 'use POSIX; use Encode; use Time::Local' ;;
	asciidoctor) sha256sum --version ;;
	ctags) ctags --version; sha256sum --version ;;
	closure) java -version ;;
	esac >/dev/null 2>&1
	return 0
}

# There is no `exec` here, since bash's `time` would be lost.
job_run() {
	case $1 in
	import)
		PYTHONPATH=$LAB_WORK/import/site PYTHONNOUSERSITE=1 \
			"$JOBS_PYTHON" "$LAB_WORK/import/import.py" ;;
	import-1)
		PYTHONPATH=$LAB_WORK/import/site PYTHONNOUSERSITE=1 \
			"$JOBS_PYTHON" -c 'import numpy
print(numpy.__version__, numpy.linalg.det(numpy.eye(3)))' ;;
	node) "$JOBS_NODE" node.js ;;
	node-1) "$JOBS_NODE" -p 'require("@babel/core").version' ;;
	# Suppresses the advice that status takes long, which git gives only
	# sometimes.
	git | status) run_git status ;;
	log) run_git log --stat -n 20 ;;
	checkout)
		run_git checkout -q next && run_git log -n 1 --format=%s &&
			run_git checkout -q main && run_git status ;;
	grep) grep -rn --include='*.h' 'struct strbuf \*' . ;;
	grep-all) grep -rn 'strbuf_addf' . ;;
	grep-500)
		grep -rn 'rename' Documentation/RelNotes Documentation/technical ;;
	tree-grep) grep -rn 'strbuf_addf' builtin xdiff refs ;;
	ls) LC_ALL=C ls -l t ;;
	build) run_build ;;
	compile) run_compile old compile common decompress ;;
	compile-4) run_compile old compile "${four_files[@]}" ;;
	compile-all) run_compile old compile . ;;
	zstd) run_compile now compile common decompress ;;
	andrew-copy) run_copy ;;
	andrew-stat) find andrew -type f -size +1 | LC_ALL=C sort && du -a andrew ;;
	andrew-read) find andrew -type f -exec wc {} + ;;
	andrew-make) run_compile andrew compile common ;;
	ld) ld -r -o "$state/tmp/all.o" ./*.o && size "$state/tmp/all.o" ;;
	index | login | editor)
		"$JOBS_PYTHON" "$jobs_dir/session.py" "$1" "$state/tmp" ;;
	read-1m) dd if=big bs=1M iflag=fullblock status=none | sha256sum ;;
	farm) run_farm ;;
	tex) run_tex ;;
	# It says by its status that some files are not as it would have them.
	prettier) "$JOBS_NODE" node_modules/prettier/bin/prettier.cjs \
		--list-different src || [ $? = 1 ] ;;
	mkdocs) run_mkdocs ;;
	exiftool) perl exiftool -q -r -FileType -ImageSize -Model t/images ;;
	asciidoctor) run_asciidoctor ;;
	ctags)
		ctags --options=NONE -R -f "$state/tmp/tags" vendor &&
			sed '/^!_/d' "$state/tmp/tags" | sha256sum ;;
	closure)
		java -Xmx600m -XX:TieredStopAtLevel=1 -jar compiler.jar --js \
			dist/js/bootstrap.js --js_output_file "$state/tmp/out.js" &&
			sha256sum <"$state/tmp/out.js" ;;
	*+*) run_both "${1%%+*}" "${1#*+}" ;;
	filters*) run_filters ;;
	esac
}

run_git() {
	git -c core.fsmonitor=false -c safe.directory='*' \
		-c advice.statusUoption=false "$@"
}

# The filters of Lei and Duchamp, as far as every system has them; in turn,
# each on a file of its own.
filters=(
	"awk {print\$2,NF}" "sed s/the/THE/g" "sort" "strings" "uniq -c"
	"base64" "grep -c the" "grep -E [a-f]{3}" "grep -F from" "gzip -nc"
)

# shellcheck disable=SC2086 # a filter is a list of words without patterns
run_filters() {
	local i=0 f files=(*.txt)
	set -f
	for f in "${files[@]}"; do
		${filters[i++ % ${#filters[@]}]} <"$f" || return
	done
}

# The first 30 that need nothing that make would generate; objects are local.
build_files="strbuf string-list wrapper usage hashmap oidset oid-array
	commit-graph tree-walk tree blob tag commit object refs dir read-cache
	diff diffcore-rename xdiff-interface revision list-objects
	merge-recursive pathspec config path quote url utf8 prompt"

run_build() {
	local f
	for f in $build_files; do
		gcc -O0 -c -I. -DSHA1_DC -DSHA1DC_NO_STANDARD_INCLUDES=1 \
			-DSHA256_BLK -DNO_OPENSSL -DGIT_HOST_CPU='"x"' \
			-DPAGER_ENV='"x"' -DETC_GITCONFIG='"x"' \
			-DDEFAULT_GIT_TEMPLATE_DIR='"x"' "$f.c" \
			-o "$state/tmp/build.o" || return
		size "$state/tmp/build.o"
	done
}

four_files=(common/{debug,error_private,entropy_common,fse_decompress}.c)

# run_compile TREE OUT PLACE...: the C files there, two at a time; objects are
# local
run_compile() {
	local tree=$1 out=$state/tmp/$2
	shift 2
	rm -rf "$out"
	mkdir -p "$out"
	find "${@/#/$tree/}" -name '*.c' | LC_ALL=C sort |
		OUT=$out TREE=$tree xargs -P 2 -n 1 bash -c '
			o=${0//\//_}
			gcc -O0 -c -DZSTD_DISABLE_ASM -I"$TREE" \
				-I"$TREE/common" "$0" -o "$OUT/${o%.c}.o"' ||
		return
	(cd "$out" && size ./*.o)
}

# A second pass for the table of contents and the references. TeX's program is
# local; its tree is wholly in the export, and what it writes is local.
run_tex() {
	local tree=$LAB_WORK/tex out=$state/tmp/tex
	rm -rf "$out"
	mkdir -p "$out/chapters"
	for _ in first second; do
		TEXMFCNF=$tree/texmf-dist/web2c TEXMFROOT=$tree \
			TEXMFSYSVAR=$tree/texmf-var \
			TEXMFSYSCONFIG=$tree/texmf-config \
			TEXMFDEBIAN=$tree/texmf-debian \
			TEXMFLOCAL=$tree/texmf-local MKTEXTFM=0 MKTEXPK=0 \
			SOURCE_DATE_EPOCH=1733054400 FORCE_SOURCE_DATE=1 \
			max_print_line=1000 /usr/bin/pdflatex -halt-on-error \
			-interaction=batchmode -output-directory="$out" \
			book.tex >"$out/said" || {
			tail -n 20 "$out/book.log" >&2
			return 1
		}
	done
	sed -n 's/^Output written on .* (/(/p' "$out/book.log" &&
		sha256sum <"$out/book.pdf"
}

run_mkdocs() {
	local out=$state/tmp/mkdocs
	rm -rf "$out"
	PYTHONPATH=$LAB_WORK/mkdocs/site PYTHONNOUSERSITE=1 \
		SOURCE_DATE_EPOCH=1733054400 \
		"$JOBS_PYTHON" -m mkdocs build -q -d "$out" || return
	(cd "$out" && find . -name '*.html' | LC_ALL=C sort |
		xargs sha256sum)
}

# All of Ruby is in the export; the C library is local.
run_asciidoctor() {
	local top=$LAB_WORK/asciidoctor lib gem
	lib=$(echo "$top"/usr/lib/*-linux-gnu)
	gem=$(echo "$top"/usr/share/rubygems-integration/all/gems/asciidoctor-*)
	LD_LIBRARY_PATH=$lib SOURCE_DATE_EPOCH=1733054400 \
		"$top/usr/bin/ruby3.1" --disable-gems \
		-I "$top/usr/lib/ruby/3.1.0" \
		-I "$lib/ruby/3.1.0" -I "$gem/lib" \
		"$gem/bin/asciidoctor" -o "$state/tmp/book.html" book.adoc &&
		sha256sum <"$state/tmp/book.html"
}

run_copy() {
	mkdir copied && cp -r andrew/. copied && ls -R copied &&
		rm -r copied
}

# Each client's sources are on a mount of its own, see farm.sh.
run_farm() {
	local i rc=0 pids=()
	for ((i = 1; i <= farm_clients; i++)); do
		(
			cd "$farm/$i/seeds/zstd" &&
				run_compile andrew "farm-$i" "${four_files[@]}"
		) >"$state/farm-$i" 2>&1 & pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || rc=$?; done
	for ((i = 1; i <= farm_clients; i++)); do cat "$state/farm-$i"; done
	return $rc
}

# Two jobs at once: what the first prints, then what the second does.
run_both() {
	local rc=0 other
	(cd "$LAB_WORK/$(job_where "$2")" && job_run "$2") \
		>"$state/second" 2>&1 &
	other=$!
	(cd "$LAB_WORK/$(job_where "$1")" && job_run "$1") || rc=$?
	wait $other || rc=$?
	cat "$state/second"
	return $rc
}

warm_filters() {
	local f
	for f in "${filters[@]}"; do cat "$(command -v "${f%% *}")"; done
}

# job_prepare JOB: on the server, before all runs
job_prepare() {
	case $1 in
	# The index must have what the server says of each file, as after a
	# checkout through the mount; else git would read all of them.
	git) refresh_index git ;;
	status | log | checkout) refresh_index seeds/repo ;;
	zstd)
		rm -rf "$LAB_EXPORT/seeds/zstd/now"
		cp -a "$LAB_EXPORT/seeds/zstd/old" "$LAB_EXPORT/seeds/zstd/now" ;;
	esac
}

refresh_index() {
	progress "$1: index"
	git -c safe.directory='*' -C "$LAB_EXPORT/$1" \
		update-index -q --refresh ||
		give_up "the checkout in the image is not clean"
}

# job_update JOB: on the server, after training; status 1 where there is
# nothing.  A newer version is laid over the one that was trained.
job_update() {
	[ "$1" = zstd ] || return 1
	find "$LAB_EXPORT/seeds/zstd/now" -mindepth 1 -delete
	cp -r "$LAB_EXPORT/seeds/zstd/new/." "$LAB_EXPORT/seeds/zstd/now"
	sync
}

# The jobs see no settings and no caches of the person who runs this. What
# they write of their own accord goes to the guest's memory.
job_environment() {
	export HOME=$state/home TMPDIR=$state/tmp LC_ALL=C.UTF-8 TZ=UTC TERM=dumb
	export MPLCONFIGDIR=$state/home/mpl GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat
	export GIT_CONFIG_NOSYSTEM=1 NODE_DISABLE_COMPILE_CACHE=1
	export PYTHONDONTWRITEBYTECODE=1
	unset PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH
	mkdir -p "$HOME" "$TMPDIR" "$MPLCONFIGDIR"
}
