seven() { echo 7; }
