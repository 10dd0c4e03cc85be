local n = 0
for line in io.lines('/proc/cpuinfo') do
  if line:match('^processor%s*:') then n = n + 1 end
end
print('processors ' .. n)
