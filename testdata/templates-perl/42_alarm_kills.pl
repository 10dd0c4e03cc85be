alarm 1; sleep 10;
