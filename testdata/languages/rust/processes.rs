use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn main() -> std::io::Result<()> {
    assert_eq!(Command::new("sh").args(["-c", "exit 3"]).status()?.code(), Some(3));
    assert_eq!(Command::new("echo").arg("piped").output()?.stdout, b"piped\n");
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    cat.stdin.take().unwrap().write_all(b"through")?;
    assert_eq!(cat.wait_with_output()?.stdout, b"through");
    let mut sleeper = Command::new("sleep").arg("9").process_group(0).spawn()?;
    sleeper.kill()?;
    assert!(sleeper.wait()?.code().is_none());
    let (mut a, mut b) = UnixStream::pair()?;
    b.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    a.write_all(b"x")?;
    b.read_exact(&mut [0])?;
    println!("processes ok");
    Ok(())
}
