for i = -2, 4 do print(i, arg[i]) end
print(_VERSION, ..., select("#", ...))
print(debug.getinfo(1, "S").source, debug.getinfo(1, "S").short_src, debug.getinfo(1, "l").currentline)
