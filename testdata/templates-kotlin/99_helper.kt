fun twice(n: Int) = 2 * n
fun unused() {}
