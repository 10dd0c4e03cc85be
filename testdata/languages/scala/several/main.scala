import other.Other

object Main {
  def main(args: Array[String]): Unit = println(s"${Other.seven} ${Other.text}")
}
