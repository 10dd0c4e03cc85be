object Main {
  def main(args: Array[String]): Unit = Thread.sleep(60000)
}
