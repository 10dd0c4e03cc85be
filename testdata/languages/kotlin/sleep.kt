fun main() = Thread.sleep(60_000)
