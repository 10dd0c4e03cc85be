local t = { 3, 1, 2 }
table.sort(t, function(a, b) return a > b end)
print(table.concat(t, ","), #t, table.unpack(t, 2), select("#", table.unpack({}, 1, 3)), next({}), rawlen(t))
print(pcall(table.sort, { 1, 2, 3, 4, 5 }, function() return true end))
