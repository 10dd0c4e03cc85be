local t = {}
for i = 1, 300000 do t[i] = { i } end
print(#t, #("x"):rep(30000000))
t = nil
collectgarbage()
