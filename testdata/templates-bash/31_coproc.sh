coproc C { while read -r l; do echo "<$l>"; done; }
echo hello >&"${C[1]}"
read -r answer <&"${C[0]}"
echo "$answer"
