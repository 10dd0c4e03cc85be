let one = 1
