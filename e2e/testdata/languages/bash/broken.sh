echo "before the mistake" >&2

for in; do echo; done
