# dotbot in this shell: `dotbot wt switch <task>` changes its folder.
#   eval "$(dotbot shell-init bash)"     or     eval "$(dotbot shell-init zsh)"

dotbot() {
  local word folder file='' code=0
  for word in "$@"; do
    case $word in
      --) break ;;
      wt | worktree) file=$(command mktemp "${TMPDIR:-/tmp}/dotbot-cd.XXXXXX") && break ;;
    esac
  done
  if [ -z "$file" ]; then
    command dotbot "$@"
    return
  fi
  DOTBOT_CD_FILE=$file command dotbot "$@" || code=$?
  # Until the closing dot, so that a folder's name may end in line ends.
  folder=$(command cat -- "$file" && printf .)
  folder=${folder%.}
  command rm -f -- "$file"
  if [ -n "$folder" ]; then
    builtin cd -- "$folder" || code=$?
  fi
  return "$code"
}

