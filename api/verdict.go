package api

// A Verdict says how the program ended. Failures of brig are Errors instead.
type Verdict string

// The verdicts, in the order in which Judge checks them. Judge checks for MemoryLimit a second
// time, after OutputLimit.
const (
	Canceled    Verdict = "canceled"     // the caller left, or the session ended
	MemoryLimit Verdict = "memory-limit" // the kernel killed a process for the run's own memory limit, or the program could not start or go on within it
	Denied      Verdict = "denied"       // a system call of the profile's kill set; Result.Denial names it
	CPULimit    Verdict = "cpu-limit"    // used more than Limits.CPU
	WallLimit   Verdict = "wall-limit"   // took longer than Limits.Wall
	OutputLimit Verdict = "output-limit" // wrote more than Limits.Output to stdout or stderr
	Signaled    Verdict = "signaled"     // died of a signal that brig did not send
	Nonzero     Verdict = "nonzero"      // exited with a code that is not 0
	OK          Verdict = "ok"           // exited with 0

	// CompileError is the verdict if the compile stage failed, for whatever reason. The other
	// fields of the Result have the details.
	CompileError Verdict = "compile-error"
)

// A Stage is the part of a run that a Result describes.
type Stage string

// The stages.
const (
	StageCompile Stage = "compile"
	StageRun     Stage = "run"
)

// Evidence is all that brig saw of a run and that matters for its verdict. The zero value is for a
// program that exited with 0 and met no limit.
type Evidence struct {
	Canceled bool // the caller left, or the session ended, before the program had ended and its files were collected

	OOMKills   uint64 // processes the kernel killed for memory in the run's own group
	MemoryHits uint64 // how often an allocation met the group's own limit
	SetupOOM   bool   // the program could not be started within the memory limit
	OutOfHeap  bool   // the language's runtime ended itself for lack of memory, recognized as its manifest describes

	Denial      *Denial // the system call of the kill set that stopped the run
	WallExpired bool    // the wall clock ran out and the agent sent SIGKILL; the program may have ended before that
	OutputFull  bool    // a stream met its limit and the agent stopped the run

	PidsHits   uint64 // forks refused by the pids limit
	ScratchHit bool   // the scratch file system was found full
	InodesHit  bool   // the scratch file system was found out of inodes
	FilesHit   bool   // a process was seen at its descriptor limit

	CPU  Duration // user and system time of all processes
	Wall Duration // from exec to exit
	Peak Size     // highest memory usage of the group; zero if unknown

	ExitCode int // meaningful when Signal is 0
	Signal   int // signal that ended the main process, or 0
}

// Judge turns evidence into a verdict.
//
// The first case that applies decides. Canceled comes first: the end of a canceled run says nothing
// about the program. The kernel's report of a memory kill comes before the limits, because the
// agent stops the run after such a report. The limits come before the signal, because the agent
// sends a signal to stop a run that exceeds a limit. A SIGKILL alone does not prove that a limit
// was met.
func Judge(e Evidence, l Limits) Verdict {
	switch {
	case e.Canceled:
		return Canceled
	case e.OOMKills > 0 && e.MemoryHits > 0, e.SetupOOM:
		return MemoryLimit
	case e.Denial != nil && !e.Denial.Allowed:
		return Denied
	case l.CPU > 0 && e.CPU > l.CPU:
		return CPULimit
	case e.exceededWall(l):
		return WallLimit
	case e.OutputFull:
		return OutputLimit
	case e.OutOfHeap:
		return MemoryLimit
	case e.Signal != 0:
		return Signaled
	case e.ExitCode != 0:
		return Nonzero
	}
	return OK
}

const sigkill = 9

// exceededWall reports whether the program took longer than its limit, or the signal that the agent
// sent when the wall clock expired ended it. The expired clock alone does not count: the program
// may have ended by itself before, within its limit (AGT-42).
func (e Evidence) exceededWall(l Limits) bool {
	return e.WallExpired && e.Signal == sigkill || l.Wall > 0 && e.Wall > l.Wall
}

// The names in Result.LimitsHit. They are the JSON names of fields of Limits.
const (
	HitWall      = "wall"
	HitCPU       = "cpu"
	HitMemory    = "memory"
	HitPids      = "pids"
	HitOutput    = "output"
	HitScratch   = "scratch"
	HitInodes    = "inodes"
	HitOpenFiles = "open_files"
)

// LimitsHit lists every limit that the program met, also those that did not decide the verdict, in
// the order of the fields of Limits.
func LimitsHit(e Evidence, l Limits) []string {
	hit := []string{}
	for _, c := range []struct {
		met  bool
		name string
	}{
		{e.exceededWall(l), HitWall},
		{l.CPU > 0 && e.CPU > l.CPU, HitCPU},
		{e.OOMKills > 0 && e.MemoryHits > 0 || e.SetupOOM || e.OutOfHeap, HitMemory},
		{e.PidsHits > 0, HitPids},
		{e.OutputFull, HitOutput},
		{e.ScratchHit, HitScratch},
		{e.InodesHit, HitInodes},
		{e.FilesHit, HitOpenFiles},
	} {
		if c.met {
			hit = append(hit, c.name)
		}
	}
	return hit
}
