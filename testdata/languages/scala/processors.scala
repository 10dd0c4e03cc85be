object Main extends App {
  println("processors " + Runtime.getRuntime.availableProcessors)
}
