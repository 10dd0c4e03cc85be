print("loading", ...)
return { f = function(x) return "helper " .. x .. " " .. debug.getinfo(1, "S").short_src end }
