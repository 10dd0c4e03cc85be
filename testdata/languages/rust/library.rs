use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

fn main() {
    let (a, b) = (RandomState::new(), RandomState::new());
    assert_ne!(a.hash_one(1), b.hash_one(1));
    println!("random ok");
    let file = std::env::temp_dir().join("brig.txt");
    std::fs::write(&file, "temp ok").unwrap();
    println!("{}", std::fs::read_to_string(&file).unwrap());
}
