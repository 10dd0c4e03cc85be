set -u
(exit 3)
[[ $? == 3 && $(echo piped | tr a-z A-Z) == PIPED ]] || exit 1
sleep 9 &
kill $!
wait $!
[[ $? == 143 ]] || exit 1
coproc cat
echo through >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
[[ $line == through ]] || exit 1
kill "$COPROC_PID"
while read -r n; do last=$n; done < <(seq 5)
[[ $last == 5 ]] || exit 1
trap 'came=1' USR1
kill -USR1 $$
[[ ${came-} == 1 ]] || exit 1
timeout 0.05 sleep 9
[[ $? == 124 ]] || exit 1
read -rt 0.01 line < <(sleep 1) && exit 1
set -m
true & wait
xargs -P 2 -n 1 echo <<<'a b' | sort | tr '\n' ' ' | grep -qx 'a b ' || exit 1
(ulimit -n 64; [[ $(ulimit -n) == 64 ]]) || exit 1
(ulimit -S -t 5 && ulimit -S -f 1000 && ulimit -S -d 500000 && ulimit -S -s 4096 && ulimit -S -u 50 && ulimit -S -v 2000000) || exit 1 # as scripts of graders do
ulimit -c >/dev/null || exit 1
[[ $(id -u) == "$UID" && $(nproc) -ge 1 && $(uname) == Linux ]] || exit 1
mkfifo queue
echo late >queue &
read -r line <queue
[[ $line == late ]] || exit 1
echo 'processes ok'
