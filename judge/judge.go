// Package judge decides what the outcome of a run means: the verdict, the limits that the program
// met, and whether its output is the expected one. Its functions are pure. Package api has the
// words for what they decide.
package judge

import "github.com/brig-sandbox/brig/api"

// Evidence is all that brig saw of a run and that matters for its verdict. The zero value is for a
// program that exited with 0 and met no limit.
type Evidence struct {
	Canceled bool // the caller left, or the session ended, before the program had ended and its files were collected

	OOMKills   uint64 // processes the kernel killed for memory in the run's own group
	MemoryHits uint64 // how often an allocation met the group's own limit
	SetupOOM   bool   // the program could not be started within the memory limit
	OutOfHeap  bool   // the language's runtime ended itself for lack of memory, recognized as its manifest describes

	Denial      *api.Denial // the call that stopped the run: the profile kills a program that makes it
	WallExpired bool        // the wall clock ran out and the agent sent SIGKILL; the program may have ended before that
	OutputFull  bool        // a stream met its limit and the agent stopped the run

	PidsHits   uint64 // forks refused by the pids limit
	ScratchHit bool   // the scratch file system was found full
	InodesHit  bool   // the scratch file system was found out of inodes
	FilesHit   bool   // a process was seen at its descriptor limit
	SizeHit    bool   // SIGXFSZ ended the main process, and the limit of a file's size was its own, not that of scratch

	CPU  api.Duration // user and system time of all processes
	Wall api.Duration // from exec to exit
	Peak api.Size     // highest memory usage of the group; zero if unknown

	ExitCode int // meaningful when Signal is 0
	Signal   int // signal that ended the main process, or 0
}

// Verdict turns evidence into a verdict.
//
// The first case that applies decides. Canceled comes first: the end of a canceled run says nothing
// about the program. The kernel's report of a memory kill comes before the limits, because the
// agent stops the run after such a report. The limits come before the signal, because the agent
// sends a signal to stop a run that exceeds a limit. A SIGKILL alone does not prove that a limit
// was met.
func Verdict(e Evidence, l api.Limits) api.Verdict {
	switch {
	case e.Canceled:
		return api.Canceled
	case e.OOMKills > 0 && e.MemoryHits > 0, e.SetupOOM:
		return api.MemoryLimit
	case e.Denial != nil && !e.Denial.Allowed:
		return api.Denied
	case l.CPU > 0 && e.CPU > l.CPU:
		return api.CPULimit
	case e.exceededWall(l):
		return api.WallLimit
	case e.OutputFull:
		return api.OutputLimit
	case e.OutOfHeap:
		return api.MemoryLimit
	case e.Signal != 0:
		return api.Signaled
	case e.ExitCode != 0:
		return api.Nonzero
	}

	return api.OK
}

const sigkill = 9

// exceededWall reports whether the program took longer than its limit, or was ended by the signal that
// the agent sends when the wall clock expires. The expired clock alone does not count: the program
// may have ended by itself before, within its limit (AGT-42).
func (e Evidence) exceededWall(l api.Limits) bool {
	return e.WallExpired && e.Signal == sigkill || l.Wall > 0 && e.Wall > l.Wall
}

// LimitsHit lists every limit that the program met, also those that did not decide the verdict, in
// the order of the fields of Limits.
func LimitsHit(e Evidence, l api.Limits) []string {
	hit := []string{}
	for _, c := range []struct {
		met  bool
		name string
	}{
		{e.exceededWall(l), api.HitWall},
		{l.CPU > 0 && e.CPU > l.CPU, api.HitCPU},
		{e.OOMKills > 0 && e.MemoryHits > 0 || e.SetupOOM || e.OutOfHeap, api.HitMemory},
		{e.PidsHits > 0, api.HitPids},
		{e.OutputFull, api.HitOutput},
		{e.ScratchHit, api.HitScratch},
		{e.InodesHit, api.HitInodes},
		{e.FilesHit, api.HitOpenFiles},
		{e.SizeHit, api.HitFileSize},
	} {
		if c.met {
			hit = append(hit, c.name)
		}
	}

	return hit
}
