echo "before the mistake" >&2

if then; fi
