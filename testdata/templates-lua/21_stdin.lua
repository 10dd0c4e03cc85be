local a, b = io.read("l", "L")
print(a, b, io.read("n"), io.read("a"), io.read("l"))
