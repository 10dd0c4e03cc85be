object Main {
  def main(args: Array[String]): Unit = {
    val thread = new Thread(new Runnable { def run(): Unit = println("from a thread") })
    thread.start()
    thread.join()
  }
}
