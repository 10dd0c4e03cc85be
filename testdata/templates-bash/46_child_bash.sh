bash -c 'echo $0 "$@" $SHLVL' child 1 2
echo 'echo from a pipe $0' | bash
"$BASH" --version | head -1
