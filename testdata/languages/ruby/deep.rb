def deep(n) = n == 0 ? 0 : 1 + deep(n - 1)
puts deep(100_000)
