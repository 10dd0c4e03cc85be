fn main() {
    println!("grün 日本 😀");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    print!("{line}");
}
