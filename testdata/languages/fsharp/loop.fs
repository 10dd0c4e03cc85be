let mutable n = 0L
while true do n <- n + 1L
