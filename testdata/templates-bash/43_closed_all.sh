exec <&- >&-
read x
echo $? >&2
