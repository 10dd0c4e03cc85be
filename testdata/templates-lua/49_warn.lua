warn("@on")
warn("a ", "warning")
