object Main {
  def main(args: Array[String]): Unit = {
    val n: Int = "no number"
  }
}
