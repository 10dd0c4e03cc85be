for i in 3 2 1; do (sleep $((i / 2)).$((i % 2 * 5)); echo $i) & done
wait
wait -n; echo $?
