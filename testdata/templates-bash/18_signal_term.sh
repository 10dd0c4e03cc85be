trap 'echo exit trap' EXIT
kill -TERM $$
sleep 5
