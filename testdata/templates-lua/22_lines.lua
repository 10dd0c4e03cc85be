for l in io.lines() do print("<" .. l .. ">") end
