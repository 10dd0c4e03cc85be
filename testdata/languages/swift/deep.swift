func deep(_ n: Int) -> Int { n == 0 ? 0 : 1 + deep(n - 1) }

print(deep(100_000))
