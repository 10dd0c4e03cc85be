fun main() {
    println("grün 日本 😀")
    val line = readln()
    check(line.length == 13)
    println(line)
}
