fn main() {
    let text = std::io::read_to_string(std::io::stdin()).unwrap();
    let sum: i32 = text.split_whitespace().map(|n| n.parse::<i32>().unwrap()).sum();
    println!("{sum}");
}
