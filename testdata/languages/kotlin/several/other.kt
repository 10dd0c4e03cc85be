package other

fun seven() = 7
const val text = "from another file"
