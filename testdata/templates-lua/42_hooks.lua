local n = 0
debug.sethook(function() n = n + 1 end, "l")
local a = 1
local b = 2
debug.sethook()
print(n)
print(debug.traceback("msg"))
