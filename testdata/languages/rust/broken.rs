fn main() {
    // A type that does not fit:
    let n: i32 = "no number";
}
