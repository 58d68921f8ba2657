# Completion of dotbot for fish 3.1 and newer.
#   dotbot completion fish --install     or     dotbot completion fish | source

function __dotbot_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    # The program that the line names; the one in PATH where that is a name of the shell's own.
    set -l program (string replace --regex '^~' $HOME -- $words[1])
    command --query $program; or set program dotbot
    set -l rows (command $program __complete fish -- $words[2..-1] (commandline --cut-at-cursor --current-token) 2>/dev/null)
    set -l head (string split \t -- $rows[1])
    switch "$head[1]"
        case files directories
            set -l paths (__fish_complete_path $head[3])
            test $head[1] = directories; and set paths (__fish_complete_directories $head[3] '')
            for path in $paths
                printf '%s%s\n' $head[2] $path
            end
        case words
            printf '%s\n' $rows[2..-1]
    end
end

complete --command dotbot --no-files --keep-order --arguments '(__dotbot_complete)'
