# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
#
# bench/jobs/run, prepare and build-rclone share these: the directory where
# everything is kept that is fetched or built once, and the names in it.
recipe=$here
store=${FOREFETCH_JOBS:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/forefetch/jobs}
git_version=2.39.5
tex_packages="texlive-base texlive-latex-base texlive-latex-recommended"

more_versions="prettier-3.4.1 bootstrap-5.3.3 re2-1.21.4
	google-closure-compiler-java-20240317.0.0"

die() { echo "jobs: $*" >&2; exit 1; }
bad_usage() { echo "jobs: $*; see --help" >&2; exit 2; }
say() { echo "jobs: $*" >&2; }

# The programs that the jobs run in the guest, which sees the host's files.
find_programs() {
	python=${JOBS_PYTHON:-/usr/bin/python3}
	[ -x "$python" ] || python=$(command -v python3) ||
		die "python3 not found"
	# The interpreter itself, not a version manager's wrapper, which would
	# cost more time than the job.
	python=$("$python" -c 'import sys; print(sys.executable)') ||
		die "$python does not run"
	node=${JOBS_NODE:-$(command -v node)} || node=''
	[ -z "$node" ] || node=$("$node" -p process.execPath)
}

# image_of SET: the beginning of its file's name, which a key follows.
image_of() {
	case $1 in
	jobs) echo "$store/image" ;;
	*) echo "$store/$1" ;;
	esac
}

# The versions of the programs belong to it: they refuse each other's formats.
tex_versions() {
	# shellcheck disable=SC2086 # words
	dpkg-query -W texlive-binaries $tex_packages 2>/dev/null
}

# Lists all that the set `more` fetches: npm's and pip's versions are fixed.
more_fetched() {
	echo "$more_versions" | paste -sd ' ' | tr -s '\t ' ' '
	grep -v '^#' "$recipe/requirements-more.txt" | paste -sd ' '
	(cd "$store/downloads" && printf '%s\n' debs/*.deb \
		libimage-exiftool-perl_*.dsc) | sed 's|.*/||' | paste -sd ' '
}

versions() {
	echo "python $("$python" -c 'import platform
print(platform.python_version())'), node $("$node" -p process.version)"
	grep -v '^#' "$recipe/requirements.txt" | paste -sd ' '
	"$node" -p 'Object.entries(JSON.parse(fs.readFileSync(
		process.argv[1])).dependencies).map(e => e.join("@")).join(" ")' \
		"$recipe/package.json"
	echo "git $git_version"
	[ ! -e "$store/tree/mkdocs" ] || more_fetched
	tex_versions | sed -n 's/^texlive-base\t/texlive /p'
}

go_wanted() { awk '$1 == "go" { print $2 }' "$recipe/rclone/go.mod"; }

rclone_sources=(go.mod go.sum main.go connect/main.go)

# The directory of the two programs, which may not be there yet.
rclone_dir() {
	(cd "$recipe/rclone" && echo "$store/rclone-$(cat "${rclone_sources[@]}" |
		sha256sum | cut -c1-16)")
}

# Says which Go is installed, and keeps it from fetching a newer one.
go_here() {
	command -v go >/dev/null || { echo "Go is not installed"; return; }
	(cd / && echo "here is $(GOTOOLCHAIN=local go env GOVERSION)")
}
