cat <<E
name $0 $((1+2))
E
cat <<'E'
$0
E
cat <<<"string"
