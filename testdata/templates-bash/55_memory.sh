x=$(seq 1 200000)
echo ${#x}
