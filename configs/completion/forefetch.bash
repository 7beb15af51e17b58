# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for forefetch and forefetchd. The program knows what may follow.
# shellcheck shell=bash

_forefetch() {
	local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
	local lines line
	# nas:/home is one word here, and three to readline.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		local cword
		_get_comp_words_by_ref -n : cur words cword
		words=("${words[@]:0:cword+1}")
	fi
	COMPREPLY=()
	mapfile -t lines < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
	case ${lines[0]-} in
	:file)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	:directory)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	esac
	for line in "${lines[@]}"; do
		COMPREPLY+=("${line%%$'\t'*}")
	done
	if declare -F __ltrim_colon_completions >/dev/null; then
		__ltrim_colon_completions "$cur"
	fi
}
complete -F _forefetch forefetch

_forefetchd() {
	local cur=${COMP_WORDS[COMP_CWORD]} options
	COMPREPLY=()
	case $cur in
	-*)
		options=$("${COMP_WORDS[0]}" --help 2>/dev/null |
			grep -oE -- '--[a-z-]+')
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur") ;;
	*)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -F _forefetchd forefetchd
