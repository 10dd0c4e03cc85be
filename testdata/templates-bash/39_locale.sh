echo "$LANG" "$LC_ALL"
LC_ALL=C.UTF-8
s=žluť
echo ${#s} ${s:0:1}
LC_ALL=C
echo ${#s}
