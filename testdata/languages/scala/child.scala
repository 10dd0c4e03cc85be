import scala.sys.process._

object Main {
  def main(args: Array[String]): Unit = print(Seq("echo", "from a child").!!)
}
