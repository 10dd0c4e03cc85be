fn main() {
    println!("processors {}", std::thread::available_parallelism().unwrap());
}
