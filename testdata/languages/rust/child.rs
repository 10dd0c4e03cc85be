fn main() {
    let out = std::process::Command::new("echo").arg("from a child").output().unwrap();
    print!("{}", String::from_utf8(out.stdout).unwrap());
}
