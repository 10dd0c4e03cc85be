os.execute("readlink /proc/$PPID/exe")
