env | sort
export B=c
env -u HOME sh -c 'echo $B $HOME'
