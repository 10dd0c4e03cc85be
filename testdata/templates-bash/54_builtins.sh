type cd
type ls
hash
enable -p | wc -l
compgen -b | wc -l
help cd | head -2
