import other.seven
import other.text

fun main() = println("${seven()} $text")
