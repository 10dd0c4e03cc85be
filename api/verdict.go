package api

// A Verdict says how the program ended. Failures of brig are Errors instead.
type Verdict string

// The verdicts, in the order in which judge.Verdict checks them. It checks for MemoryLimit a second
// time, after OutputLimit.
const (
	Canceled Verdict = "canceled" // the caller left, or the session ended
	// the kernel killed a process for the run's own memory limit, or the program could not start or go on within it
	MemoryLimit Verdict = "memory-limit"
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
	HitFileSize  = "file_size"
)
