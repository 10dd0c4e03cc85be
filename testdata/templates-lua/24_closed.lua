io.stdout:close()
print("lost")
io.stderr:write(tostring(io.stdout), "\n")
