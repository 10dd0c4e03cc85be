local t = {}
print(t.a.b)
