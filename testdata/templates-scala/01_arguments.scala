object Main {
  def main(args: Array[String]): Unit = {
    println(args.toList)
    println(sys.env("NAME") + " " + sys.env.keys.toList.sorted)
    scala.io.Source.stdin.getLines().foreach(l => println("line " + l))
  }
}
