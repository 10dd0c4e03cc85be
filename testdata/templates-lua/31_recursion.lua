local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end
print(f(150000))
print(select(2, pcall(function() local function g() return 1 + g() end return g() end)):match("stack overflow"))
