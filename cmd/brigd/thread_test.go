package main

import (
	goruntime "runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// AGT-05: no goroutine but main gets the process's first thread, however many need their own thread
// at once: libcontainer would leave the first thread in a cell's mount namespace.
func TestOnlyMainRunsOnTheFirstThread(t *testing.T) {
	const many = 64
	var together, ended sync.WaitGroup
	together.Add(many)
	for range many {
		ended.Go(func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			together.Done()
			together.Wait() // so that each has a thread, and none idle is left
			if unix.Gettid() == unix.Getpid() {
				t.Error("a goroutine is on the first thread")
			}
		})
	}

	ended.Wait()
}
