pub fn value() -> i32 {
    7
}
