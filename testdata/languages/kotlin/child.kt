import kotlin.system.exitProcess

fun main() {
    val child = ProcessBuilder("echo", "from a child").start()
    print(child.inputReader().readText())
    exitProcess(child.waitFor())
}
