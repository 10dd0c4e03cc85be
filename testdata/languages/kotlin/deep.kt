fun deep(n: Int): Int = if (n == 0) 0 else 1 + deep(n - 1)

fun main() = println(deep(100_000))
