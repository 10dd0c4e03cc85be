sleep 100 &
echo done
