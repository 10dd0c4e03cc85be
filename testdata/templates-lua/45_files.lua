local f = assert(io.open("out.txt", "w")); f:write("a\n", 1, "\n"); f:close()
print(os.rename("out.txt", "new.txt"), io.open("new.txt"):read("a"), os.remove("none"))
local t = io.tmpfile(); t:write("x"); t:seek("set"); print(t:read("a"))
print(pcall(io.lines, "none"), io.open("none"))
