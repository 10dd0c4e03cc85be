import kotlin.concurrent.thread
import kotlin.system.exitProcess

fun main() {
    thread(isDaemon = true) { Thread.sleep(100000) }
    System.err.println("error")
    print("no newline")
    exitProcess(7)
}
