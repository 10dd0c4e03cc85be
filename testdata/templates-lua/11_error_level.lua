local function f() error("up", 2) end
local ok, e = pcall(function() f() end)
print(ok, e)
print(xpcall(function() local x = nil; return x.y end, debug.traceback))
print(select(2, pcall(error, "plain", 0)))
