object Main extends App {
  Console.err.println("error")
  print("no newline")
  sys.exit(7)
}
