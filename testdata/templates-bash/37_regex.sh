[[ "abc 123" =~ ([a-z]+)\ ([0-9]+) ]] && echo "${BASH_REMATCH[@]}"
case abc in a*) echo glob;; esac
