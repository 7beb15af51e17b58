# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for forefetch. The program knows what may follow.

function __forefetch_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l lines ($words[1] complete -- $words[2..-1] "$last" 2>/dev/null)
    switch "$lines[1]"
        case ':file'
            __fish_complete_path "$last"
        case ':directory'
            __fish_complete_directories "$last"
        case '*'
            printf '%s\n' $lines
    end
end

complete -c forefetch -f -a '(__forefetch_complete)'
