print(pcall(string.rep, "x", -1))
local s = ("("):rep(300)
print(load("return " .. s))
local t = setmetatable({}, {}); getmetatable(t).__index = t
print(pcall(function() return t.x end))
