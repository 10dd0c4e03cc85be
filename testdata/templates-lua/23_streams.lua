io.stdout:write("a"):write("b\n")
io.stderr:write("err\n")
print(io.type(io.stdin), tostring(io.stdout):match("^file"), io.output() == io.stdout)
io.stdout:setvbuf("full"); io.write("buffered"); os.execute("printf child")
