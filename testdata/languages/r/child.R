cat(system("echo from a child", intern = TRUE), sep = "\n")
