os.execute("kill -KILL $PPID")
