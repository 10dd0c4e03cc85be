ulimit -s
sh -c 'ulimit -s'
