# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The order in which the arms of a bench take turns.

# shuffled SEED ROUND WORD...: the words, one a line. Rounds 1 and 2 have an
# order that depends on the seed, the second the first's turned round, so that
# none gains by its place; so have rounds 3 and 4, and so on.
shuffled() {
	local pair=$((($2 + 1) / 2)) turn=cat
	[ $(($2 % 2)) = 1 ] || turn=tac
	# shuf takes only the source's first bytes, so each of them has to depend
	# on all of the seed.
	shuf -e "${@:3}" \
		--random-source=<(yes "$(sha512sum <<<"$1 $pair")") | $turn
}
