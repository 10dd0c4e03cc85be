if [ -z "$AGAIN" ]; then
  AGAIN=1 exec "$BASH" "$0" again "$@"
fi
echo "$0" "$@" "$AGAIN"
