object Main extends App {
  sys.props.toList.sortBy(_._1).foreach { case (k, v) => println(k + "=" + v.trim) }
  println(getClass.getClassLoader)
}
