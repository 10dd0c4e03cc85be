echo 'grün 日本 😀'
IFS= read -r line
printf '%s\n' "$line"
