fn deep(n: u32) -> u32 {
    if std::hint::black_box(n) == 0 { 0 } else { 1 + deep(n - 1) }
}

fn main() {
    println!("{}", deep(100_000));
}
