setmetatable({}, { __gc = function() print("gc") end })
os.exit(3)
