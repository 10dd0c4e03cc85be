local n = {}
for k in pairs(_G) do n[#n + 1] = tostring(k) end
for k in pairs(package.loaded) do n[#n + 1] = "loaded " .. k end
table.sort(n)
print(table.concat(n, "\n"))
print(package.path, package.cpath, package.config)
