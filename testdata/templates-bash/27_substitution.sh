echo "$(echo "$(echo "$(echo deep)")")" `echo old`
diff <(echo a) <(echo b)
echo written > >(cat)
wait
