object Main extends App {
  case class Point(x: Int, y: Int)
  println(Set(1, 2, 3, 4, 5, 6, 7), Map("a" -> 1, "b" -> 2, "c" -> 3, "d" -> 4, "e" -> 5))
  println(Point(1, 2).copy(y = 3).hashCode, List("b", "a").sorted, Stream.from(1).map(_ * 2).take(5).toList)
  println(scala.util.Try(assert(1 > 2)))
}
