nothing-of-this-name
echo $?
./nothing
echo $?
. ./nothing
echo $?
