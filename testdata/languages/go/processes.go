package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := exec.Command("sh", "-c", "exit 3").Run(); err == nil || err.Error() != "exit status 3" {
		panic(err)
	}
	cat := exec.Command("cat")
	cat.Stdin = strings.NewReader("through")
	out, err := cat.Output()
	check(err)
	sleeper := exec.Command("sleep", "9")
	sleeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(sleeper.Start())
	check(syscall.Kill(-sleeper.Process.Pid, syscall.SIGTERM))
	if err := sleeper.Wait(); err == nil || err.Error() != "signal: terminated" {
		panic(err)
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGUSR1)
	me, err := os.FindProcess(os.Getpid())
	check(err)
	check(me.Signal(syscall.SIGUSR1))
	<-came
	r, w, err := os.Pipe()
	check(err)
	go func() { _, _ = w.WriteString("x") }()
	var b [1]byte
	_, err = r.Read(b[:])
	check(err)
	check(r.SetReadDeadline(time.Now().Add(10 * time.Millisecond)))
	if _, err = r.Read(b[:]); !os.IsTimeout(err) {
		panic(err)
	}
	runtime.LockOSThread()
	old, err := syscall.Getpgid(0)
	check(err)
	if string(out) != "through" || old < 0 || runtime.NumCPU() < 1 {
		panic(string(out))
	}
	fmt.Println("processes ok")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
