set -m
sleep 0.1 & 
jobs | sed 's/[0-9]\{2,\}//'
wait %1
echo $?
(exit 7) &
wait $!
echo $?
