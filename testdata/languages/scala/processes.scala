import java.io.ByteArrayInputStream
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future, Promise}
import scala.sys.process._

object Main {
  def main(args: Array[String]): Unit = {
    require(Seq("sh", "-c", "exit 3").! == 3)
    require(("cat" #< new ByteArrayInputStream("through".getBytes)).!!.trim == "through")
    require(("echo piped" #| "tr p P").!!.trim == "PiPed")
    // Without threads that read its output: destroy closes it, and they would report that.
    val sleeper = Process("sleep 9").run(new ProcessIO(_.close(), _.close(), _.close()))
    sleeper.destroy()
    require(sleeper.exitValue() == 143)
    val numbers = Future.sequence((1 to 4).map(n => Future(2 * n)))
    require(Await.result(numbers, 5.seconds).sum == 20)
    val rang = Promise[Int]()
    new java.util.Timer(true).schedule(new java.util.TimerTask { def run(): Unit = rang.success(7) }, 10)
    require(Await.result(rang.future, 5.seconds) == 7)
    require((1 to 100).par.sum == 5050 && sys.env.contains("HOME"))
    println("processes ok")
  }
}
