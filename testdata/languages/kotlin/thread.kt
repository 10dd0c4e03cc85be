import kotlin.concurrent.thread

fun main() = thread { println("from a thread") }.join()
