# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the variables are of guest.sh
#
# The rows of bench/farm/run, see its help. Machine 0 has no farm, machine 1
# fills it, and machine 2 is the one whose first run is timed.

job_rows() {
	local job=$1 i m
	progress "$job: reference"
	one_run ref - floor 1 "$job" floor
	if wants a || wants d || wants e; then fill "$job"; fi
	if wants a || wants e; then row_a "$job"; fi
	if wants b; then row_b "$job"; fi
	if wants c || wants e; then row_c "$job"; fi
	if wants d; then row_d "$job"; row_d_cluster "$job"; fi
	machine_unmount "$LAB_WORK"
	for ((m = 0; m <= FARM_MACHINES; m++)); do
		machine_stop "$m"
		rm -rf "$LAB_CACHE/machines/$m"
	done
	rm -f "$engine_dir"/filled-*
}

# fill JOB: machine 1 learns it, beginning with nothing, and the engine has what
# it then has. That machine's disk stays.
fill() {
	local job=$1 i
	engine_start none || give_up "no engine"
	machine_new 1
	for ((i = 1; i <= FARM_TRAIN; i++)); do
		[ "$i" = 1 ] || { machine_unmount "$LAB_WORK"; machine_again 1; }
		one_run train - one "$i" "$job" 1
	done
	machine_unmount "$LAB_WORK"
	machine_publishes
	machine_stop 1
	engine_keep "filled-$job" || give_up "the engine does not save"
	progress "$job: in the engine: $(engine_filled | tr '\n' ' ')"
}

# The daemon publishes what it learned some seconds after what it fetched.
machine_publishes() { [ "$farm_known" = no ] || engine_settle 6; }

# a: machine 1, which knows the job, and machine 2 with an empty disk, in turns;
# for the row e also machine 0 with an empty disk
row_a() {
	local job=$1 round arm
	local -a arms=(floor trained second)
	! wants e || arms+=(alone)
	for ((round = 1; round <= FARM_RUNS; round++)); do
		[ "$round" -gt "$FARM_DIRECT" ] ||
			one_run a - direct "$round" "$job" direct
		for arm in $(shuffled "$FARM_SEED" "$round" "${arms[@]}"); do
			row_a_run "$arm" "$round" "$job"
		done
	done
}

row_a_run() {
	local arm=$1 round=$2 job=$3
	case $arm in
	floor) one_run a - floor "$round" "$job" floor ;;
	trained)
		machine_unmount "$LAB_WORK"
		engine_start "filled-$job" || give_up "no engine"
		machine_again 1
		one_run a - trained "$round" "$job" 1
		machine_unmount "$LAB_WORK"
		machine_stop 1 ;;
	*) first_run a - "$arm" "$round" "$job" "filled-$job" ;;
	esac
}

# b: first runs of many machines beside that of one, in bytes
row_b() {
	local job=$1 round m counted
	for ((round = 1; round <= FARM_BYTES; round++)); do
		engine_start none || give_up "no engine"
		for ((m = 1; m <= FARM_MACHINES; m++)); do
			machine_unmount "$LAB_WORK"
			machine_new "$m"
			one_run b turns "$m" "$round" "$job" "$m"
			machine_unmount "$LAB_WORK"
			[ "$m" != 1 ] || machine_publishes
			machine_stop "$m"
			rm -rf "$LAB_CACHE/machines/$m"
		done
		engine_start none || give_up "no engine"
		all_at_once "$job" "$round"
	done
}

# all_at_once JOB ROUND: each with a mount namespace of its own
all_at_once() {
	local job=$1 round=$2 m dir pids=() ok=0 all=() dirs=() counted t0
	machine_unmount "$LAB_WORK"
	for ((m = 1; m <= FARM_MACHINES; m++)); do
		dir=$state/m/$m
		all+=("$m") dirs+=("$dir/mnt")
		mkdir -p "$dir/mnt"
		machine_new "$m"
		machine_mount "$m" "$dir/mnt"
	done
	job_warm "$job"
	count_begin "${all[@]}"
	lab_now; t0=$LAB_NOW
	for m in "${all[@]}"; do
		dir=$state/m/$m
		unshare --mount --propagation private bash "$farm_dir/once.sh" \
			"$job" "$dir/mnt" "$dir" </dev/null >"$dir/said" 2>&1 &
		pids+=($!)
	done
	wait "${pids[@]}"
	lab_now; took=$((LAB_NOW - t0))
	lab_settle 1
	counted=$(count_end "${all[@]}")
	machine_unmount "${dirs[@]}"
	for m in "${all[@]}"; do
		machine_stop "$m"
		rm -rf "$LAB_CACHE/machines/$m"
		if cmp -s "$state/m/$m/out" "$state/ref-$job"; then
			ok=$((ok + 1))
		else
			cat "$state/m/$m/said" >&2
			show_wrong "$state/m/$m" "$job"
		fi
	done
	echo "many job=$job case=once n=$round machines=$FARM_MACHINES ok=$ok" \
		"us=$took $counted"
	progress "b: $job, $FARM_MACHINES machines at once:" \
		"$((took / 1000000)) s until the last was ready, $counted"
}

# c: first runs of which the farm knows nothing, beside those without a farm
row_c() {
	local job=$1 round arm
	if [ ! -e "$engine_dir/other.rdb" ]; then
		one_run ref - floor 1 filters floor
		engine_start none || give_up "no engine"
		machine_new 1
		one_run train - one 1 filters 1
		machine_unmount "$LAB_WORK"
		machine_publishes
		machine_stop 1
		engine_keep other || give_up "the engine does not save"
	fi
	for ((round = 1; round <= FARM_RUNS; round++)); do
		for arm in $(shuffled "$FARM_SEED" "$round" alone farm); do
			first_run c - "$arm" "$round" "$job" other
		done
	done
}

# first_run ROW CASE ARM ROUND JOB SNAPSHOT: arm `alone` is machine 0, another
# one machine 2 with the engine as in that snapshot; both with an empty disk
first_run() {
	local row=$1 case=$2 arm=$3 round=$4 job=$5 m=2
	[ "$arm" != alone ] || m=0
	machine_unmount "$LAB_WORK"
	machine_stop 0
	machine_stop 2
	engine_start "$6" || give_up "no engine"
	machine_new "$m"
	one_run "$row" "$case" "$arm" "$round" "$job" "$m"
	machine_unmount "$LAB_WORK"
	machine_stop "$m"
}

# d: faults of one node. When the job is half done, by the time that it takes
# with all in order.
row_d() {
	local job=$1 round case
	local -a cases
	read -ra cases <<<"${FARM_FAULTS/cluster/}"
	[ ${#cases[@]} -gt 0 ] || return 0
	first_run d none calibrate 1 "$job" "filled-$job"
	fault_after=$(half_of_it)
	for ((round = 1; round <= FARM_RUNS; round++)); do
		for case in $(shuffled "$FARM_SEED" "$round" alone "${cases[@]}"); do
			faulty_run "$case" "$round" "$job"
		done
	done
	fault=''
}

faulty_run() {
	local case=$1 round=$2 job=$3
	if [ "$case" = alone ]; then
		fault='' first_run d one alone "$round" "$job" none
		return
	fi
	machine_unmount "$LAB_WORK"
	machine_stop 2
	fault=''
	case $case in
	stopped) engine_stop ;;
	filled) engine_start none --maxmemory 2mb \
		--maxmemory-policy noeviction ;;
	*) engine_start "filled-$job" ;;
	esac || give_up "no engine"
	machine_new 2
	case $case in
	hung) engine_hang ;;
	hung-midway) fault=engine_hang ;;
	killed) fault=engine_kill ;;
	esac
	one_run d "$case" farm "$round" "$job" 2
	fault=''
	machine_unmount "$LAB_WORK"
	machine_stop 2
}

# Not engine_stop, which is of the shell that keeps the process numbers.
engine_kill() { kill -9 "${node_pid[6379]}"; }

# d: one of three masters is killed while the job runs
row_d_cluster() {
	local job=$1 round arm url
	[[ " $FARM_FAULTS " = *" cluster "* ]] || return 0
	url=$(cluster_url)
	engine_stop
	cluster_start || give_up "the cluster does not start"
	machine_new 1 "$url"
	one_run train cluster one 1 "$job" 1
	machine_unmount "$LAB_WORK"
	machine_publishes
	machine_stop 1
	machine_new 2 "$url"
	one_run d cluster-whole calibrate 1 "$job" 2
	machine_unmount "$LAB_WORK"
	machine_stop 2
	fault_after=$(half_of_it)
	for ((round = 1; round <= FARM_RUNS; round++)); do
		for arm in $(shuffled "$FARM_SEED" "$round" alone farm); do
			cluster_run "$arm" "$round" "$job" "$url"
		done
	done
	cluster_stop
}

cluster_run() {
	local arm=$1 round=$2 job=$3 url=$4 m=0
	if [ "$arm" = farm ]; then
		m=2
		cluster_choose || give_up "the cluster has no master"
		fault=cluster_kill_master
	fi
	machine_new $m "$url"
	one_run d cluster "$arm" "$round" "$job" $m
	fault=''
	machine_unmount "$LAB_WORK"
	machine_stop $m
	[ "$arm" != farm ] || cluster_mend ||
		give_up "the cluster does not mend: $(tail -n 3 \
			"$LAB_STATE/redis-$cluster_victim.log")"
}

# f: a million keys, in a node that has room for them, and in one that has not
row_f() {
	progress "f: $FARM_KEYS keys"
	engine_start none --maxmemory 0 || give_up "no engine"
	engine_in "$JOBS_PYTHON" "$farm_dir/keys.py" "$engine_addr" \
		"$FARM_KEYS" || give_up "the engine does not take the keys"
	engine_stop
}
