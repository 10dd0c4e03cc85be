use std::io::{Read, Write};

fn main() {
    let url = std::env::args().nth(1).unwrap();
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut server = std::net::TcpStream::connect(host).unwrap();
    write!(server, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    print!("{}", answer.split_once("\r\n\r\n").unwrap().1);
}
