# Completion of dotbot for bash 3.2 and newer, with or without the bash-completion package.
#   dotbot completion bash --install     or     eval "$(dotbot completion bash)"

_dotbot() {
  local program=${1/#\~/$HOME} answer row lead paths
  COMPREPLY=()
  # The program that the line names; the one in PATH where that is a name of the shell's own (an alias).
  type -P -- "$program" >/dev/null || program=dotbot
  answer=$(command "$program" __complete bash -- "${COLUMNS:-80}" "${COMP_TYPE:-9}" "$COMP_WORDBREAKS" \
    "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  case $answer in
    words*) answer=${answer#words} ;;
    files$'\t'* | directories$'\t'*)
      lead=${answer#*$'\t'}
      lead=${lead%$'\t'*}
      paths=-f
      [[ $answer == directories* ]] && paths=-d
      # Quoting, and a slash behind folders, are bash's own business; 3.2 can't be told, and does without.
      compopt -o filenames 2>/dev/null
      answer=$(compgen "$paths" -P "$lead" -- "${answer##*$'\t'}")
      ;;
  esac
  while IFS= read -r row; do
    [[ -n $row ]] && COMPREPLY[${#COMPREPLY[@]}]=$row
  done <<<"$answer"
}

complete -F _dotbot dotbot
