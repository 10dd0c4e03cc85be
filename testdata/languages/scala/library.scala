import java.nio.file.Files
import java.time.format.DateTimeFormatter
import java.time.{ZoneId, ZonedDateTime}
import scala.util.Random
import scala.util.parsing.json.JSON

object Main {
  def main(args: Array[String]): Unit = {
    JSON.parseFull("[1, 2]") match {
      case Some(numbers: List[_]) => println("json " + numbers.map(_.asInstanceOf[Double]).sum.toInt)
      case other => sys.error(other.toString)
    }
    println("regex " + "[0-9]{4}".r.findFirstIn("the year 2026 in a text").get)
    println("big " + BigInt(2).pow(100))
    val noon = ZonedDateTime.parse("2026-01-01T12:00:00Z").withZoneSameInstant(ZoneId.of("Asia/Tokyo"))
    println("zone " + noon.format(DateTimeFormatter.ofPattern("HH:mm")))
    println("random " + (if (Random.nextInt(6) < 6) "ok" else "bad"))
    val name = Files.createTempFile("brig", ".txt")
    Files.write(name, "temp ok".getBytes)
    println(scala.io.Source.fromFile(name.toFile).mkString)
    Files.delete(name)
  }
}
