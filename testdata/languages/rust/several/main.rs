mod seven;

fn main() {
    println!("{} from another file", seven::value());
}
