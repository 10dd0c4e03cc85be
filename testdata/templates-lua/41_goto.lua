for i = 1, 3 do if i == 2 then goto continue end print(i) ::continue:: end
local x <const> = 5
print(x)
