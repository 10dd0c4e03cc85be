import kotlinx.coroutines.*

fun main() = runBlocking {
    val all = (1..20).map { async(Dispatchers.Default) { delay(5); it * it } }
    println(all.awaitAll().sum())
    withTimeoutOrNull(10) { delay(10000) } ?: println("timed out")
}
