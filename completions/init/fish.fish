# dotbot in this shell: `dotbot wt switch <task>` changes its folder.
#   dotbot shell-init fish | source

function dotbot --description 'One true queue, one worktree per task'
    set -l file
    if contains -- wt $argv; or contains -- worktree $argv
        set file (command mktemp (set -q TMPDIR; and echo $TMPDIR; or echo /tmp)/dotbot-cd.XXXXXX)
    end
    if test -z "$file"
        command dotbot $argv
        return
    end
    DOTBOT_CD_FILE=$file command dotbot $argv
    set -l code $status
    set -l folder (string collect --no-trim-newlines <$file)
    command rm -f -- $file
    if test -n "$folder"
        cd -- $folder; or set code $status
    end
    return $code
end

