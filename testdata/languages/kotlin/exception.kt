fun main() {
    error("boom")
}
