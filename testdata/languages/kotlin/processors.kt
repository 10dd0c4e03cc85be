fun main() {
    println("processors ${Runtime.getRuntime().availableProcessors()}")
}
