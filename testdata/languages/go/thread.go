package main

import (
	"fmt"
	"runtime"
)

func main() {
	runtime.LockOSThread() // the goroutine needs another thread
	done := make(chan bool)
	go func() {
		fmt.Println("from a thread")
		close(done)
	}()
	<-done
}
