local function g() return 1 + g() end
g()
