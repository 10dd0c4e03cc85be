object Helper { def twice(n: Int) = 2 * n }
