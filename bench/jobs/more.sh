# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# The parts of the set `more` (see README.md), for bench/jobs/prepare: what the
# jobs prettier, mkdocs, exiftool, asciidoctor, ctags and closure read.

# npm_archive NAME: fetches the package in the version of store.sh, prints its path
npm_archive() {
	local it file
	for it in $more_versions; do [ "${it%-*}" != "$1" ] || break; done
	file=$store/downloads/$it.tgz
	[ -s "$file" ] || npm pack --silent --pack-destination \
		"$store/downloads" --cache "$store/downloads/npm" \
		"$1@${it##*-}" >&2 || return 1
	echo "$file"
}

# npm_unpack NAME DIR [PATH...]: the package, or these parts of it, into DIR
npm_unpack() {
	local archive name=$1 dir=$2
	shift 2
	archive=$(npm_archive "$name") && mkdir -p "$dir" &&
		tar -xzf "$archive" -C "$dir" --strip-components=1 "${@/#/package/}"
}

part_prettier() {
	npm_unpack prettier "$1/node_modules/prettier" &&
		npm_unpack bootstrap "$1/src" scss js/src
}

part_ctags() {
	command -v ctags >/dev/null || more_missing ctags || return 1
	npm_unpack re2 "$1"
}

part_closure() {
	command -v java >/dev/null || more_missing java || return 1
	npm_unpack google-closure-compiler-java "$1" compiler.jar &&
		npm_unpack bootstrap "$1" dist/js/bootstrap.js
}

more_missing() {
	echo "$1 is missing (as root: bench/install-packages more)"
	return 1
}

part_mkdocs() {
	local wheels=$store/downloads/wheels pip
	local options=(--no-deps --disable-pip-version-check
		-r "$recipe/requirements-more.txt")
	pip=$(command -v pip3 || command -v pip) || {
		echo "pip is missing (Debian: python3-pip)"
		return 1
	}
	options+=(--only-binary=:all: --implementation cp --python-version
		"$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')")
	"$pip" download "${options[@]}" -d "$wheels" &&
		"$pip" install "${options[@]}" --no-index --find-links "$wheels" \
			--no-compile --target "$1/site" &&
		"$python" -m compileall -q -s "$1" -p /mnt/work/mkdocs \
			"$1/site" && "$python" "$recipe/more.py" pages "$1"
}

# The interpreter is not installed; the export has it, and all its libraries
# that are not everywhere.
part_asciidoctor() {
	local debs=$store/downloads/debs name
	mkdir -p "$debs"
	debian_lists || return 1
	for name in ruby3.1 libruby3.1 ruby-asciidoctor; do
		compgen -G "$debs/${name}_*.deb" >/dev/null ||
			(cd "$debs" && apt-get "${apt_options[@]}" download "$name") ||
			return 1
		dpkg-deb -x "$debs/$name"_*.deb "$1" || return 1
	done
	rm -rf "$1/usr/share/doc" "$1/usr/share/man"
	"$python" "$recipe/more.py" book "$1/book"
}

# The source package has pictures, sounds and documents of all kinds, as tests.
part_exiftool() {
	local archive
	debian_lists || return 1
	(
		cd "$store/downloads" && apt-get "${apt_options[@]}" source \
			--download-only libimage-exiftool-perl
	) || return 1
	archive=$(ls -t "$store"/downloads/libimage-exiftool-perl_*.orig.tar.* |
		head -n 1)
	tar -xf "$archive" -C "$1" --strip-components=1
}
