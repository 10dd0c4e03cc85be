use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{symlink, PermissionsExt};

fn main() -> std::io::Result<()> {
    fs::write("a.txt", "hello")?;
    fs::OpenOptions::new().append(true).open("a.txt")?.write_all(b", world")?;
    fs::rename("a.txt", "b.txt")?;
    fs::create_dir_all("d/e")?;
    assert_eq!(fs::copy("b.txt", "d/b.txt")?, 12);
    symlink("b.txt", "d/soft")?;
    fs::hard_link("b.txt", "d/hard")?;
    let mut f = fs::OpenOptions::new().read(true).write(true).open("d/b.txt")?;
    f.set_len(5)?;
    f.seek(SeekFrom::End(0))?;
    f.sync_all()?;
    f.sync_data()?;
    f.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
    fs::set_permissions("d/b.txt", fs::Permissions::from_mode(0o640))?;
    assert_eq!(fs::metadata("d/b.txt")?.permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir("d")?.count(), 4);
    assert_eq!(fs::read_link("d/soft")?.to_str(), Some("b.txt"));
    assert!(fs::canonicalize("d/soft")?.ends_with("d/b.txt"));
    std::env::set_current_dir("d")?;
    assert_eq!(fs::read_to_string("soft")?, "hello");
    std::env::set_current_dir("..")?;
    fs::remove_file("b.txt")?;
    fs::remove_dir_all("d")?;
    assert!(!fs::exists("d")?);
    println!("files ok");
    Ok(())
}
