read -r first
read -r -t 5 second
echo "$second $first"
read -r third || echo end
