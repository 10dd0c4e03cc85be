x=$(head -c 200000 /dev/zero | tr '\0' a)
cat <<<"$x" | wc -c
echo ${#x}
