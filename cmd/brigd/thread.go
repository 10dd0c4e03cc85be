package main

import goruntime "runtime"

// Only main runs on the first thread: because an init function locks it, Go runs main there and
// no other goroutine (package runtime, LockOSThread). libcontainer enters the mount namespace of
// each cell on a thread that it ends afterwards. The first thread cannot be ended: it would stay
// in the namespace of a dead cell (TestOnlyMainRunsOnTheFirstThread).
func init() { goruntime.LockOSThread() }
