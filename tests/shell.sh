#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Has shellcheck look at every shell script that git keeps or would keep: those that end
# in .sh or .bash, and those that begin with the name of a shell. Its options are in .shellcheckrc.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."

mapfile -d '' -t files < <(git ls-files -z --cached --others \
	--exclude-standard)
scripts=()
for file in "${files[@]}"; do
	[ -f "$file" ] || continue
	case $file in
	*.sh | *.bash) scripts+=("$file"); continue ;;
	*.*) [[ $file == debian/* ]] || continue ;;
	esac
	first=
	IFS= read -r -n 64 first <"$file" || :
	[[ ! $first =~ ^'#!'.*[/\ ](ba|da|)sh($|\ ) ]] || scripts+=("$file")
done
shellcheck -S warning "${scripts[@]}"
echo "shell: ${#scripts[@]} scripts, nothing found"
