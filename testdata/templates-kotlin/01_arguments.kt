fun main(args: Array<String>) {
    println(args.toList())
    println(System.getenv("NAME") + " " + System.getenv().keys.sorted())
    generateSequence(::readLine).forEach { println("line $it") }
}
