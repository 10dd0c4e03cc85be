fun main() {
    val kept = ArrayList<ByteArray>()
    try { while (true) kept.add(ByteArray(1 shl 20)) } finally { println("not reached") }
}
