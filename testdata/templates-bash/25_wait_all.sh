for i in 3 2 1; do (sleep 0.$i; echo $i) & done
wait
wait -n; echo $?
