echo helper "$0" "${BASH_SOURCE[0]}" "$@"
helper() { echo "${FUNCNAME[@]}" "${BASH_SOURCE[@]}" "$@"; }
return 5
