.shell sleep 60
