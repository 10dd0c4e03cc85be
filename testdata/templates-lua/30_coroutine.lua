local co = coroutine.create(function(a) local b = coroutine.yield(a + 1); error("inside " .. b) end)
print(coroutine.resume(co, 1)); print(coroutine.resume(co, "b")); print(coroutine.status(co), coroutine.close(co))
for i in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do io.write(i, " ") end
print(coroutine.running())
