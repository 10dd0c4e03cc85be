declare -p | grep -vE '^declare -[a-zA-Z-]+ (RANDOM|SRANDOM|EPOCH[A-Z]*|SECONDS|PPID|BASHPID|_)\b'
