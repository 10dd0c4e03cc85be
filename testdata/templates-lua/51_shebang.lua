#!/usr/bin/lua
print("after the first line", debug.getinfo(1, "l").currentline)
