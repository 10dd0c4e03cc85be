exec >&-
echo lost
echo $? >&2
