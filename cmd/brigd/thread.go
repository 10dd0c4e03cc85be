package main

import goruntime "runtime"

// The first thread is main's alone: an init function that locks it has main run there and
// nothing else (package runtime, LockOSThread). libcontainer enters the mount namespace of
// each cell on a thread that it means to end, and the first one cannot be ended: it
// would stay in a dead cell's namespace (TestFirstThreadIsMainsAlone).
func init() { goruntime.LockOSThread() }
