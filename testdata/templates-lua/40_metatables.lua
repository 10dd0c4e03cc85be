local mt = { __add = function(a, b) return "add" end, __call = function(self, x) return x end, __tostring = function() return "T" end, __len = function() return 7 end, __eq = function() return true end, __name = "N" }
local a, b = setmetatable({}, mt), setmetatable({}, mt)
print(a + b, a(5), tostring(a), #a, a == b, pcall(function() return a < b end))
