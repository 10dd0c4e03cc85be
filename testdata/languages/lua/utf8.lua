print("grün 日本 😀")
local line = io.read()
assert(utf8.len(line) == 13)
print(line)
