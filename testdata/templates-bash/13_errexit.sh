set -e
trap 'echo on line $LINENO: $BASH_COMMAND' ERR
echo before
false
echo after
