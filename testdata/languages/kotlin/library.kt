import java.math.BigInteger
import java.time.ZoneId
import java.time.ZonedDateTime
import java.time.format.DateTimeFormatter
import kotlin.io.path.createTempFile
import kotlin.io.path.deleteExisting
import kotlin.io.path.readText
import kotlin.io.path.writeText
import kotlin.random.Random

fun main() {
    println("regex " + Regex("""\d{4}""").find("the year 2026 in a text")!!.value)
    println("big " + BigInteger.TWO.pow(100))
    val noon = ZonedDateTime.parse("2026-01-01T12:00:00Z").withZoneSameInstant(ZoneId.of("Asia/Tokyo"))
    println("zone " + noon.format(DateTimeFormatter.ofPattern("HH:mm")))
    println("random " + if (Random.nextInt(6) in 0..5) "ok" else "bad")
    val name = createTempFile()
    name.writeText("temp ok")
    println(name.readText())
    name.deleteExisting()
}
