# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for forefetchd.

complete -c forefetchd -s f -l file -r -F -d 'Configuration'
complete -c forefetchd -l run-dir -r -a '(__fish_complete_directories)' -d 'Configuration for this run'
complete -c forefetchd -s F -l foreground -d 'Stay in the foreground'
complete -c forefetchd -s t -l test -d 'Check the configuration and exit'
complete -c forefetchd -s v -l verbose -d 'With -t: print every setting'
complete -c forefetchd -s V -l version -d 'Print the version and exit'
complete -c forefetchd -s h -l help -d 'Explain the options'
