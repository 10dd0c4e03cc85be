readlink /proc/$$/exe
