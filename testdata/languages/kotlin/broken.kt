fun main() {
    println("never printed")
    val n: Int = "no number"
}
