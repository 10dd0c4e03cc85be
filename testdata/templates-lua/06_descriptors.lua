os.execute("ls /proc/$PPID/fd | wc -l")
