package api

// The exit codes that stand for results which a program's own does not: see Exit.
const (
	exitCompile  = 1
	exitTime     = 124 // as timeout(1) has it
	exitSignal   = 128 // plus the signal
	exitCanceled = 130 // 128 + SIGINT
	exitMemory   = 137 // 128 + SIGKILL
	exitOutput   = 153 // 128 + SIGXFSZ
	exitDenied   = 159 // 128 + SIGSYS
)

// Exit gives the one exit code that stands for r, as brig run ends with and /execute
// answers: the program's own, or one that tells the verdict, which a program can exit
// with as well. Zero: it ended well.
func (r Result) Exit() int {
	switch r.Verdict {
	case CPULimit, WallLimit:
		return exitTime
	case MemoryLimit:
		return exitMemory
	case OutputLimit:
		return exitOutput
	case Denied:
		return exitDenied
	case Canceled:
		return exitCanceled
	case Signaled:
		return exitSignal + r.Signal
	case OK:
		return 0
	case CompileError:
		return exitCompile
	}
	return r.ExitCode
}
