class Wrong(text: String) : Exception(text)

fun fails(n: Int): Int = if (n == 0) throw Wrong("deep") else fails(n - 1)

fun main() {
    Runtime.getRuntime().addShutdownHook(Thread { println("at the end") })
    println("before")
    fails(3)
}
