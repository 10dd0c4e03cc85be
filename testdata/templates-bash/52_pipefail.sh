set -o pipefail
false | true
echo $?
! true
echo $?
