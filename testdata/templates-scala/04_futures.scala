import scala.concurrent._
import scala.concurrent.duration._
import ExecutionContext.Implicits.global

object Main extends App {
  println(Await.result(Future.sequence((1 to 20).map(n => Future { Thread.sleep(2); n * n })), 10.seconds).sum)
  println((1 to 1000).par.map(_ * 2).sum)
}
