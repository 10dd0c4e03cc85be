object Main {
  class Wrong(text: String) extends Exception(text)
  def fails(n: Int): Int = if (n == 0) throw new Wrong("deep") else 1 + fails(n - 1)
  def main(args: Array[String]): Unit = {
    sys.addShutdownHook(println("at the end"))
    println("before")
    fails(3)
  }
}
