cat /proc/$$/limits
ulimit -a
ulimit -Hn
umask
