sleep 60
