trap 'echo got USR1' USR1
trap 'echo got CHLD' CHLD
trap '' INT
kill -USR1 $$
kill -INT $$
sleep 0
trap
kill -l | head -3
