fn main() {
    loop {
        std::hint::black_box(());
    }
}
