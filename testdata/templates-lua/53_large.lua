local t = {}
for i = 1, 20000 do t[i] = ("line %d of many"):format(i) end
io.write(table.concat(t, "\n"))
