. ./helper.sh one
echo $?
helper two
