echo a
echo b
