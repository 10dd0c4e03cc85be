ls /proc/$$/fd | tr '\n' ' '
ls -l /proc/self/fd | wc -l
