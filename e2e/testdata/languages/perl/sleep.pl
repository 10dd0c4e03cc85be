sleep 60;
