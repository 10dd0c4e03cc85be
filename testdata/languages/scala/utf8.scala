object Main {
  def main(args: Array[String]): Unit = {
    println("grün 日本 😀")
    val line = scala.io.StdIn.readLine()
    require(line.length == 13)
    println(line)
  }
}
