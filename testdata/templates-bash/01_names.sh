echo "$0" "${BASH_SOURCE[@]}" $# "$BASH" "$BASH_VERSION" "$-" "$SHLVL" "$LINENO" "$BASH_ARGV0" "$IFS" "$PS4" "$OPTIND"
for a in "$@"; do printf '<%s>' "$a"; done
echo
