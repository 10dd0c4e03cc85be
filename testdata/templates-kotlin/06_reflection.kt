import kotlin.reflect.full.memberProperties

data class Point(val x: Int, val y: Int) { companion object { val zero = Point(0, 0) } }

fun main() {
    println(Point::class.memberProperties.map { it.name }.sorted())
    println(Point(1, 2).copy(y = 3).hashCode() to Point.zero)
    println(listOf("b", "a", "c").sortedDescending().groupBy { it.first() })
    println(runCatching { assert(1 > 2) { "asserts are on" } }.exceptionOrNull())
}
