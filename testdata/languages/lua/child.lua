local child = assert(io.popen("echo from a child"))
io.write(child:read("a"))
assert(child:close())
