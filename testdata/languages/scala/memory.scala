object Main {
  def main(args: Array[String]): Unit = {
    val kept = scala.collection.mutable.ArrayBuffer[Array[Byte]]()
    while (true) kept += Array.fill[Byte](1 << 20)(1)
  }
}
