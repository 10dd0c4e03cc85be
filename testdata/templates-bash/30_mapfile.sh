mapfile -t lines
printf '%s|' "${lines[@]}"
