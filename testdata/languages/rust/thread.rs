fn main() {
    std::thread::spawn(|| println!("from a thread")).join().unwrap();
}
