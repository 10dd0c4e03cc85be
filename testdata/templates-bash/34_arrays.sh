declare -A m=([a]=1 [b]=2)
l=(3 1 2)
echo "${m[a]}" "${#m[@]}" "${l[@]:1}" "${!l[@]}" "${l[-1]}"
printf '%s\n' "${l[@]}" | sort | paste -sd,
