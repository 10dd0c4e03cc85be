fun main() {
    val kept = mutableListOf<ByteArray>()
    while (true) kept.add(ByteArray(1 shl 20) { 1 })
}
