local f = io.open("/dev/full", "w")
f:write(("x"):rep(100000))
print(f:close())
