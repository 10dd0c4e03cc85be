error(setmetatable({}, { __tostring = function() return "own" end }))
