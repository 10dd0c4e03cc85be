local h = require("helper")
print(h.f(1), package.loaded.helper == h)
print(dofile("helper.lua").f(2))
print(pcall(require, "no.such"))
