trap 'echo debug $BASH_COMMAND' DEBUG
trap 'echo return' RETURN
trap 'echo exit' EXIT
f() { :; }
f
