package plan

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/rootfs"
)

// A Run is one run, decided: everything that the run steps apply. It is made from the request, the
// language and the operator's ceiling without touching anything.
type Run struct {
	ID          string
	Stage       api.Stage
	Cell        Cell
	Once        bool // the cell serves this run only
	Mode        api.Mode
	Argv, Env   []string
	Dir         string // in which the program starts; empty: /box
	Files       []api.File
	Dirs        []string   // empty directories in /box, in addition to those of files
	Source      string     // of files, the name of the file that is the program's source; empty: none
	SourceName  string     // of a compile stage: the name that the request gives to the source
	Built       []api.File // artifacts of the compile stage, placed in addition to files
	Stdin       []byte     // with InputFile the content of that file
	Limits      api.Limits // complete
	Collect     api.Collect
	Artifacts   []string // of a compile stage: what is collected instead
	MergeStderr bool     // stderr is the pipe of stdout
	TTY         *api.TTY // the terminal that is stdin, stdout and stderr; nil: pipes are
	Resident    bool     // it stays in its session: it has no slot, and as much time as the session
	Control     bool     // a resident that has descriptors 3 and 4 as well
	Uncached    bool     // a compile stage whose artifacts are neither kept nor taken from those that are
	Syntax      bool     // a compile stage that makes nothing: it only checks the source
	Labels      api.Labels
	MaxKept     [2]api.Size          // maximum of stdout and stderr that the result carries; zero: as much as a result may carry
	OOMExitCode int                  // a language's own out-of-memory exit code; 0: none
	OOMMessage  string               // what its runtime prints then; empty: nothing
	Network     *Network             // nil: none
	Timeline    *api.TimelineRequest // nil: none
	Packages    *rootfs.PackageSet   // that the program finds; nil: none
	Template    *Template            // from which the run begins; nil: the ordinary start
	Cold        string               // why it has the ordinary start although its language has templates
	Volume      api.Size             // size of the session's volume; a file may be as large

	Given      []api.File // of a test: placed sealed, in addition to Files
	Beyond     []api.File // those of Files for which the scratch is larger than its limit
	InputFile  string     // of a test: it has what would be on stdin; empty: stdin has it
	OutputFile string     // of a test: it is judged; empty: stdout is
	unloaded   api.Size   // pages of those of these that are blobs, and not loaded yet

	// Backstop is the processor time after which the kernel kills a single process; zero: derived
	// from the cpu limit. It may be higher for an exec, because what the exec leaves running may
	// use more.
	Backstop api.Duration

	program program // of which Argv was made
}

// A Network is what a run has of one: a network namespace of its own, whose loopback is up.
type Network struct {
	Ports []uint16 // on which the caller relays connections to hosts; none: loopback alone
}

// OutOfHeap reports whether a program that ended by itself was ended by its runtime for lack of
// memory: with the exit code that the language's manifest declares, 128 more than the number of a
// signal that the runtime sends itself, and in addition either with one of the
// declared texts at the end of stderr, or near the limit. A program that prints this and exits so
// without need has failed as well, only under another name. A runtime that was refused a thread says
// the same as one without memory: less than half of the limit with refused forks is no lack of memory.
func (p *Run) OutOfHeap(ev judge.Evidence, stderrEnd []byte) bool {
	switch {
	case p.OOMExitCode == 0:
		return false
	case ev.Signal == 0 && ev.ExitCode != p.OOMExitCode, ev.Signal != 0 && 128+ev.Signal != p.OOMExitCode:
		return false
	case ev.PidsHits > 0 && ev.Peak < p.Limits.Memory/2:
		return false
	case p.OOMMessage != "":
		return slices.ContainsFunc(strings.Split(p.OOMMessage, "|"),
			func(text string) bool { return bytes.Contains(stderrEnd, []byte(text)) })
	}
	return p.Limits.Memory > 0 && ev.Peak >= p.Limits.Memory/10*9
}

// NewID returns a new run id: 16 characters that cannot be guessed.
func NewID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}
