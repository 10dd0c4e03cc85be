local t = setmetatable({}, { __gc = function() print("gc at the end") end })
g = setmetatable({}, { __gc = function() error("in gc") end })
print("last")
