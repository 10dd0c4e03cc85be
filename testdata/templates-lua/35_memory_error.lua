local ok, e = pcall(string.rep, "x", 1 << 60)
print(ok, e)
