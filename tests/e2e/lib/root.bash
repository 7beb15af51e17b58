# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are of the script that sources this
# Root file systems of a bare Debian, for the tests that begin on this side of
# the guest, where there is a network. Sourced with these variables set:
#
#   suite     bookworm where it is not set, trixie, or noble of Ubuntu
#   build     the build directory; roots are kept in $build/debian12 or 13, or in
#             $build/ubuntu24.04
#   source    the checkout that is copied into them
#   name      of the test; $work is its directory, emptied by root_alone
#
#   root_alone ARG...       runs $0 ARG... again, in a mount namespace of its own:
#                           what is mounted goes with it, however it ends
#   root_layer NAME STAMP COMMAND...   the layer NAME: a bare Debian in which
#                           COMMAND has been run once (as long as STAMP stays the
#                           same), between root_enter and root_leave
#   root_make LAYER         $root becomes a copy of it, on write
#   root_enter, root_leave  $root has /proc, /dev, names and the source meanwhile
#   root_copy_source        the checkout, as it would be cloned, in ~ff/forefetch
#   root_as_user COMMAND    in a login shell of the user ff, who has sudo
#   step WORDS, die WORDS

PATH=$PATH:/usr/sbin:/sbin
suite=${suite:-bookworm}
case $suite in
bookworm) store=$build/debian12 ;;
trixie) store=$build/debian13 ;;
noble) store=$build/ubuntu24.04 ;;
*) echo "$name: '$suite' is none of bookworm, trixie, noble" >&2; exit 2 ;;
esac
work=$store/$name.run
start=$SECONDS
step() { printf '== %s (%d s)\n' "$*" $((SECONDS - start)); }
die() { echo "$name: $*" >&2; exit 1; }

root_alone() {
	[ -n "${E2E_ALONE:-}" ] ||
		E2E_ALONE=1 exec unshare --mount --propagation private "$0" "$@"
	unset E2E_ALONE
	rm -rf "$work"
	mkdir -p "$work"
}

# The mirror that this machine's own packages come from, in either format: one of
# Debian has all suites.
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		awk '$1 == "deb" {
				for (i = 2; i < NF; i++)
					if ($i ~ /:\/\// && $(i + 1) ~ /^(bookworm|trixie)$/)
						print $i
			}
			/^URIs:/ { uri = $2 }
			/^Suites:/ && / (bookworm|trixie)( |$)/ { here = 1 }
			/^$/ { if (here) print uri; here = 0 }
			END { if (here) print uri }' | head -n 1
}

# Ubuntu keeps here what amd64 needs, and no other architecture. Debian has no package
# of its keys, so they come from Ubuntu, too; the checksum is that of 2026-11-28.
ubuntu=http://archive.ubuntu.com/ubuntu
ubuntu_keyring='ubuntu-keyring_2023.11.28.1_all.deb'
ubuntu_sum=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8

fetch_ubuntu_keys() {
	python3 - "$ubuntu/pool/main/u/ubuntu-keyring/$ubuntu_keyring" \
		"$store/keyring.deb" <<-'END' &&
		import sys, urllib.request
		urllib.request.urlretrieve(*sys.argv[1:])
	END
		echo "$ubuntu_sum  $store/keyring.deb" | sha256sum --check --quiet &&
		dpkg-deb -x "$store/keyring.deb" "$store/keys"
}

# A plain Debian has these.
packages=apt,systemd,systemd-sysv,sudo,ca-certificates,libpam-systemd,dbus
packages+=,netbase,iproute2,procps,kmod,usr-is-merged

make_bare() {
	local url v root=$store/bare.new from=()
	if [ "$suite" = noble ]; then
		fetch_ubuntu_keys || die "the keys of Ubuntu cannot be fetched"
		from=("--components=main,universe"
			"--keyring=$store/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg")
		url=$ubuntu
	else
		url=$(mirror)
		[ -n "$url" ] || die "no mirror of Debian in /etc/apt"
	fi
	command -v mmdebstrap >/dev/null || die "mmdebstrap is missing"
	rm -rf "$root"
	{
		# A mirror may fail once.
		echo 'Acquire::Retries "3";'
		apt-config dump | grep -E '^Acquire::https?::(Proxy|Verify)'
	} >"$store/apt.conf" || true
	mmdebstrap --mode=root --variant=minbase --include="$packages" \
		--aptopt="$store/apt.conf" "${from[@]}" "$suite" "$root" "$url" \
		2>"$store/bare.log" || {
		tail -n 20 "$store/bare.log" >&2
		die "mmdebstrap failed"
	}
	for v in http_proxy https_proxy no_proxy; do
		[ -z "${!v:-}" ] || echo "export $v=${!v@Q}"
	done >"$root/etc/profile.d/machine.sh"
	echo debian >"$root/etc/hostname"
	printf '127.0.0.1 localhost\n127.0.1.1 debian\n' >"$root/etc/hosts"
	chroot "$root" useradd -m -s /bin/bash ff
	cat >"$root/etc/sudoers.d/ff" <<-'END'
		ff ALL=(ALL) NOPASSWD: ALL
		Defaults env_keep += "http_proxy https_proxy no_proxy"
	END
	echo "$packages" >"$root/.stamp"
	mv "$root" "$store/bare"
}

has_stamp() { [ "$(cat "$store/$1/.stamp" 2>/dev/null)" = "$2" ]; }

root_bare() {
	has_stamp bare "$packages" && return
	step "a bare Debian, $suite, once"
	find "$store" -mindepth 1 -maxdepth 1 -type d ! -name '*.run' \
		-exec rm -rf {} +
	make_bare
}

# Two tests may want one at the same time.
root_layer() {
	local layer=$1 stamp=$2
	shift 2
	mkdir -p "$store"
	exec 8>"$store/.lock"
	flock 8
	root_bare
	if ! has_stamp "$layer" "$stamp"; then
		step "what $layer needs, once"
		rm -rf "${store:?}/$layer" "$store/$layer.new"
		cp -a "$store/bare" "$store/$layer.new"
		root=$store/$layer.new
		root_enter
		"$@" >"$store/$layer.log" 2>&1 || {
			tail -n 20 "$store/$layer.log" >&2
			die "packages of $layer cannot be installed"
		}
		root_leave
		rm -rf "$root"/var/cache/apt/archives/*.deb \
			"$root/home/ff/forefetch" "$root"/var/lib/apt/lists/*
		echo "$stamp" >"$root/.stamp"
		mv "$root" "$store/$layer"
	fi
	exec 8>&-
}

root_copy_source() {
	local to=$root/home/ff/forefetch
	mkdir -p "$to"
	if git -C "$source" rev-parse >/dev/null 2>&1; then
		git -C "$source" ls-files -z --cached --others --exclude-standard |
			tar -C "$source" --null --ignore-failed-read -T - -cf - \
				2>/dev/null
	else
		tar -C "$source" --exclude='./build*' --exclude=./.git -cf - .
	fi | tar -C "$to" -xf -
	chroot "$root" chown -R ff:ff /home/ff/forefetch
}

root_enter() {
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	root_copy_source
}

root_leave() {
	umount "$root/proc"
	umount -l "$root/dev"
}

# A plain copy where there is no overlay. $2: where, below $work.
root_make() {
	local at=${2:-machine}
	root=$work/$at/root
	mkdir -p "$work/$at/upper" "$work/$at/ovl" "$root"
	cd "$store" || return 1
	mount -t overlay -o \
		"lowerdir=$1,upperdir=$name.run/$at/upper,workdir=$name.run/$at/ovl" \
		"$name" "$root" 2>/dev/null || cp -a "$1/." "$root/"
	cd /
}

root_as_user() {
	chroot "$root" su - ff -c "cd ~/forefetch || exit
		$1" </dev/null
}

