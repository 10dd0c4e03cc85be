f() { if [ "$1" -gt 0 ]; then f $(($1-1)); else echo bottom; fi; }
f 2000
FUNCNEST=10
f 20
