f() { echo "${FUNCNAME[@]}" "${BASH_LINENO[@]}" "${BASH_SOURCE[@]}" "$@"; [ "$1" -gt 0 ] && f $(($1-1)); }
f 3
caller
