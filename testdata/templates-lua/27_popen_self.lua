print(io.popen("lua -e 'print(arg[0], _VERSION)'"):read("a"))
print(io.popen("lua -v"):read("a"))
