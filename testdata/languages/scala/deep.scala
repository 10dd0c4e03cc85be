object Main {
  def deep(n: Int): Int = if (n == 0) 0 else 1 + deep(n - 1)

  def main(args: Array[String]): Unit = println(deep(100000))
}
