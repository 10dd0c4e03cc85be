for _, f in ipairs { "comm", "cmdline", "limits" } do print((io.open("/proc/self/" .. f):read("a"):gsub("\0", "|"))) end
for l in io.lines("/proc/self/status") do if l:match("^Sig") or l:match("^Shd") or l:match("^Threads") or l:match("^[UG]id") or l:match("^Seccomp") or l:match("^Umask") then print(l) end end
