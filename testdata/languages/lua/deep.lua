local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
print(deep(100000))
