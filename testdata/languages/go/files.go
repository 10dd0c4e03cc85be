package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	check(os.WriteFile("a.txt", []byte("hello"), 0o600))
	f, err := os.OpenFile("a.txt", os.O_APPEND|os.O_RDWR, 0)
	check(err)
	_, err = f.WriteString(", world")
	check(err)
	check(os.Rename("a.txt", "b.txt"))
	check(os.MkdirAll("d/e", 0o755))
	check(os.CopyFS("copy", os.DirFS("d")))
	check(os.Symlink("../b.txt", "d/soft"))
	check(os.Link("b.txt", "d/hard"))
	check(f.Truncate(5))
	check(os.Truncate("b.txt", 5))
	check(f.Sync())
	check(f.Chmod(0o640))
	check(os.Chmod("b.txt", 0o600))
	check(os.Chtimes("b.txt", time.Now(), time.Now()))
	n := 0
	check(filepath.WalkDir("d", func(string, fs.DirEntry, error) error { n++; return nil }))
	check(os.Chdir("d"))
	text, err := os.ReadFile("soft")
	check(err)
	target, err := os.Readlink("soft")
	check(err)
	here, err := os.Getwd()
	check(err)
	check(os.Chdir(".."))
	var b [4]byte
	_, err = f.WriteAt([]byte("H"), 0)
	if err != nil { // opened to append
		g, err := os.OpenFile("b.txt", os.O_RDWR, 0)
		check(err)
		_, err = g.WriteAt([]byte("J"), 0)
		check(err)
		_, err = g.ReadAt(b[:], 0)
		check(err)
		check(g.Close())
	}
	check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	check(syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &lock))
	check(syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock))
	check(syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock))
	var room syscall.Statfs_t
	check(syscall.Statfs(".", &room))
	root, err := os.OpenRoot("d")
	check(err)
	_, err = root.Stat("e")
	check(err)
	check(root.Close())
	check(f.Close())
	check(os.Remove("b.txt"))
	check(os.RemoveAll("d"))
	check(os.RemoveAll("copy"))
	if n != 4 || string(text) != "hello" || target != "../b.txt" || here != "/box/d" || string(b[:]) != "Jell" {
		panic(fmt.Sprint(n, string(text), target, here, string(b[:])))
	}
	fmt.Println("files ok")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
