print(1 // 0.0, 7 // 2, 7 % -3, 2 ^ 53, 1 << 62, math.maxinteger + 1 == math.mininteger, 0x7fffffffffffffff, 1e15, 3 | 4, math.type(1), math.type(1.0), 10 / 2)
print(pcall(function() return 1 // 0 end))
print(string.format("%5.2f %d %s %q %x %g %a", 3.14159, 42, "s", "a\nb", 255, 1e20, 1.0))
