fun main() {
    System.getProperties().toSortedMap(compareBy { it.toString() }).forEach { (k, v) -> println("$k=${v.toString().trim()}") }
    println(object {}.javaClass.classLoader)
}
