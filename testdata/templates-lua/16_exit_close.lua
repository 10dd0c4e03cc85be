local x <close> = setmetatable({}, { __close = function() print("closed") end })
setmetatable({}, { __gc = function() print("gc") end })
io.write("before ")
os.exit(true, true)
