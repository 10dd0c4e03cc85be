print("not reached")
local x = = 1
