# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # machines.sh and engine.sh have the others
#
# The part of bench/farm/demo that runs in the lab's guest.

farm_dir=$LAB_ROOT/bench/farm
state=$LAB_STATE/farm
give_up() { echo "demo: $*" >&2; exit 1; }

# shellcheck source=bench/farm/engine.sh
. "$farm_dir/engine.sh"
# shellcheck source=bench/farm/machines.sh
. "$farm_dir/machines.sh"

modules="asyncio concurrent.futures csv ctypes dataclasses decimal difflib
	doctest email.message email.mime.text ftplib http.server imaplib json
	logging.config mailbox multiprocessing.pool optparse pdb pickle pydoc
	sqlite3 statistics tarfile tempfile unittest.mock urllib.request
	wsgiref.simple_server xml.dom.minidom xml.etree.ElementTree xml.sax
	xmlrpc.client zipfile zoneinfo"

# Python itself is on the local disk; all of its library is far away.
job() {
	local import=${modules//[$'\t\n']/ }
	while [[ $import = *"  "* ]]; do import=${import//  / }; done
	PYTHONHOME=$PWD /usr/bin/python3 -S -B -c "import ${import// /, }, sys
print(len(sys.modules), 'modules')" || return
	grep -rc --include='*.py' 'raise ' lib/*/{email,http,json,xml,logging} |
		LC_ALL=C sort
}

warm() {
	grep --version
	sort --version
	/usr/bin/python3 -S -c pass
} >/dev/null

mega() { printf '%d.%02d MB' $(($1 / 1000000)) $(($1 / 10000 % 100)); }

# show WHAT MACHINE: does the job, and prints a line
show() {
	local what=$1 m=$2 t0 t1
	machine_unmount "$LAB_WORK"
	warm
	machine_mount "$m" "$LAB_WORK"
	count_begin "$m"
	lab_now; t0=$LAB_NOW
	(cd "$LAB_WORK/tree" && job) >"$state/out" 2>&1 || {
		tail -n 3 "$state/out" >&2
		give_up "the job fails"
	}
	lab_now; t1=$LAB_NOW
	[[ ! $m =~ ^[0-9]+$ ]] || lab_settle 1
	count "$m"
	[ -e "$state/wanted" ] || cp "$state/out" "$state/wanted"
	cmp -s "$state/out" "$state/wanted" || {
		diff "$state/wanted" "$state/out" | head -n 5 >&2
		give_up "WRONG: another output than on the direct mount"
	}
	took=$((t1 - t0)) far=$((c_in - was[1])) near=$((c_ein - was[3]))
	# It has a way of its own to the server.
	[ "$m" != floor ] || far=0
	printf '%-42s %6d.%02d s %12s %12s\n' "$what" $((took / 1000000)) \
		$((took / 10000 % 100)) "$(mega $far)" "$(mega $near)"
	machine_unmount "$LAB_WORK"
}

# Prints the daemon's own words on its farm, where it has some.
say_farm() {
	forefetch --socket "$state/$1.sock" farm status 2>/dev/null |
		sed 's/^/    /'
}

# Prints how much is in the engine, and one value as its administrator sees it.
say_engine() {
	local key
	key=$(node_cli 6379 randomkey)
	[ -n "$key" ] || return 0
	echo "The engine has $(node_cli 6379 dbsize) keys," \
		"$(node_cli 6379 info memory | tr -d '\r' |
			sed -n 's/^used_memory_human://p') of memory. A key, and" \
		"what its value begins with:"
	echo "    $key  $(node_cli 6379 --raw getrange "$key" 0 23 |
		head -c 24 | od -An -tx1 | tr -d ' \n')…"
}

main() {
	local first_s first_far
	declare -ga node_pid=() was=()
	hertz=$(getconf CLK_TCK)
	mkdir -p "$state" "$LAB_CACHE/machines" "$LAB_WORK"
	lab_proxy_stop
	engine_machine && engine_start none || give_up "no engine"
	(umask 077 && head -c 32 /dev/urandom >"$state/key")
	machine_knows_farm || echo "This build knows no [farm] section, so" \
		"that machine two gains nothing."
	printf '\n%-42s %9s %12s %12s\n' '' time 'slow link' engine
	show "direct, without a link: the least" floor
	show "direct, without forefetch" direct
	machine_new 1
	show "machine one, empty disk; the farm is empty" 1
	first_s=$took first_far=$far
	engine_settle 6
	machine_stop 1
	machine_new 2
	show "machine two, empty disk; the farm is full" 2
	say_farm 2
	printf '\nMachine two took %d %% of the time of machine one, and %d %%' \
		$((100 * took / first_s)) $((100 * far / first_far))
	printf ' of its bytes over the slow link.\n'
	say_engine
	machine_stop 2
	engine_stop
}

main
