set -o
shopt
echo "$SHELLOPTS" "$BASHOPTS"
