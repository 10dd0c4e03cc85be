package other

object Other {
  def seven: Int = 7
  val text = "from another file"
}
