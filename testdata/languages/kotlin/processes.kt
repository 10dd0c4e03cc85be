import java.util.concurrent.TimeUnit
import kotlin.concurrent.schedule
import kotlinx.coroutines.*
import kotlinx.coroutines.channels.Channel

fun main() = runBlocking {
    check(ProcessBuilder("sh", "-c", "exit 3").start().waitFor() == 3)
    val cat = ProcessBuilder("cat").start()
    cat.outputWriter().use { it.write("through") }
    check(cat.inputReader().readText() == "through" && cat.waitFor() == 0)
    val sleeper = ProcessBuilder("sleep", "9").start()
    check(!sleeper.waitFor(10, TimeUnit.MILLISECONDS) && sleeper.isAlive)
    sleeper.destroy()
    check(sleeper.onExit().get().exitValue() == 143)
    val numbers = (1..4).map { n -> async(Dispatchers.Default) { delay(1); 2 * n } }.awaitAll()
    check(numbers.sum() == 20)
    val channel = Channel<Int>()
    launch { channel.send(7) }
    check(channel.receive() == 7)
    check(withTimeoutOrNull(10) { delay(9_000) } == null)
    val rang = CompletableDeferred<Boolean>()
    val timer = java.util.Timer(true)
    timer.schedule(10) { rang.complete(true) }
    check(rang.await() && withContext(Dispatchers.IO) { System.getenv("HOME") } != null)
    println("processes ok")
}
