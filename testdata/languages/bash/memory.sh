kept=0123456789abcdef
while :; do kept=$kept$kept; done
