package cell

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// The agent's side of cellinit/wire.h. Every struct here has the same size and
// order as there; TestWireSizes asks the compiler.

const wireMagic = 0x67697262

const (
	kindHello = 1 + iota
	kindReady
	kindSpawn
	kindSpawned
	kindStart
	kindExited
	kindFailed
)

const (
	wireMaxLast    = 256
	wireMaxWide    = 4096
	wireMaxJoins   = 8
	wireMaxRlimits = 16
	wireMaxWords   = plan.MaxStartWords
	wireMaxStrings = plan.MaxStartBytes

	wireClockWords = 512

	helloOwnsImage = 1

	spawnFullProc = 1
	spawnSession  = 2
	spawnExec     = 4
	spawnVolume   = 8
	spawnNetwork  = 16
	spawnInstall  = 32

	startTemplate = 1
	startLinked   = 2
	startPaired   = 4
	startMerged   = 8
	startTTY      = 16
	startControl  = 32

	wireMaxNamed = 2 * api.MaxProcesses
	wireNamedFD  = plan.FirstNamed
)

// A Step is a step of cellinit, of a shell or of the run steps that failed.
type Step string

// stepNamespace is the user namespace of programs that own their image.
const stepNamespace Step = "namespace"

// cellSteps names the steps that wire.h numbers.
var cellSteps = [...]Step{
	"none", "decode", "keyring", "privilege", "filter", "clone", "scratch", "volume", "proc", "stdio",
	"rlimit", "identity", "cgroup", "directory", "last-filter", "exec", stepNamespace,
}

// A StepError names the step inside the cell that failed.
type StepError struct {
	Step Step
	Err  error // a unix.Errno
}

func (e *StepError) Error() string { return "cell step " + string(e.Step) + ": " + e.Err.Error() }
func (e *StepError) Unwrap() error { return e.Err }

type wireHello struct {
	Magic, Kind uint32
	UID, GID    uint32
	Wide, Last  uint32
	Flags       uint32
	Insns       [wireMaxLast * 8]byte
}

type wireSpawn struct {
	Magic, Kind uint32
	Flags       uint32
	Joins       uint32
	HasCgroup   uint32
	Clock       uint32
}

type wireLimit struct {
	Resource, _ uint32
	Soft, Hard  uint64
}

type wireStart struct {
	Magic, Kind uint32
	Argc, Envc  uint32
	Rlimits     uint32
	Strings     uint32
	Flags       uint32
	Named       uint32
	Limit       [wireMaxRlimits]wireLimit
}

// A Reply is a message of cellinit or of a shell: what became of the program. Times are on the
// monotonic clock.
type Reply struct {
	Magic, Kind      uint32
	Step             uint32
	Err              int32
	Pid              int32
	Status           int32
	ExecNs, ExitNs   uint64
	UserUs, SystemUs uint64
	MaxRSSKiB        uint64
}

const ReplySize = 64

// encode serializes a wire struct. The structs have fixed-size fields only, so it cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic("BUG: wire struct of variable size: " + err.Error())
	}
	return b.Bytes()
}

// decodeReply reads a message of cellinit or of a shell. A failure that it reports is a *StepError.
// A reply of another kind than wanted is a bug of brig.
func decodeReply(b []byte, want uint32) (Reply, error) {
	le := binary.LittleEndian
	if len(b) != ReplySize {
		return Reply{}, fmt.Errorf("BUG: reply of %d bytes; want %d", len(b), ReplySize)
	}

	r := Reply{
		Magic: le.Uint32(b), Kind: le.Uint32(b[4:]), Step: le.Uint32(b[8:]),
		Err: int32(le.Uint32(b[12:])), Pid: int32(le.Uint32(b[16:])), Status: int32(le.Uint32(b[20:])),
		ExecNs: le.Uint64(b[24:]), ExitNs: le.Uint64(b[32:]),
		UserUs: le.Uint64(b[40:]), SystemUs: le.Uint64(b[48:]), MaxRSSKiB: le.Uint64(b[56:]),
	}

	switch {
	case r.Magic == wireMagic && r.Kind == kindFailed && int(r.Step) < len(cellSteps):
		return r, &StepError{cellSteps[r.Step], unix.Errno(r.Err)}
	case r.Magic != wireMagic || r.Kind != want:
		return r, fmt.Errorf("BUG: reply of kind %d, magic %#x; want kind %d", r.Kind, r.Magic, want)
	}

	return r, nil
}

// A Start says which files follow the message that starts a program, in this order. Its zero value: none.
type Start struct {
	Template bool // the program itself
	Linked   bool // its stdin and stdout
	Named    int  // files that it has as plan.NamedFile says

	// Paired: another program reads what it writes. It is to find the end of that only when the agent knows how this
	// program ended: otherwise which of the two ended first would be a race (GRD-30).
	Paired bool

	Merged bool // stderr is the pipe of stdout
	TTY    bool // a terminal, which is stdin, stdout and stderr; no other file follows

	Control bool // two pipes, its descriptors 3, which it reads, and 4; no other file follows
}

// StartMessage is the message that starts a program in the directory dir; empty: in /box.
func StartMessage(dir string, argv, env []string, rlimits []plan.RLimit, how Start) ([]byte, error) {
	limits, err := wireLimits(rlimits)
	if err != nil {
		return nil, err
	}

	flags := uint32(0)
	if how.Template {
		flags |= startTemplate
	}
	if how.Linked {
		flags |= startLinked
	}
	if how.Paired {
		flags |= startPaired
	}
	if how.Merged {
		flags |= startMerged
	}
	if how.TTY {
		flags = startTTY
	}
	if how.Control {
		flags |= startControl
		how.Named = 2
	}
	return encodeStart(dir, argv, env, limits, flags, uint32(how.Named))
}

// encodeStart serializes the one message that a shell waits for. The directory precedes argv and counts
// as one of its words.
func encodeStart(dir string, argv, env []string, rlimits []wireLimit, flags, named uint32) ([]byte, error) {
	empty := len(argv) == 0
	argv = append([]string{dir}, argv...)
	size := 0
	for _, words := range [][]string{argv, env} {
		for _, w := range words {
			size += len(w) + 1
		}
	}

	if empty || len(argv)+len(env) > wireMaxWords || size > wireMaxStrings ||
		len(rlimits) > wireMaxRlimits || named > wireMaxNamed {
		return nil, fmt.Errorf("BUG: start message: %d words, %d bytes, %d rlimits, %d named files", len(argv)+len(env),
			size, len(rlimits), named)
	}

	le := binary.LittleEndian
	b := make([]byte, 0, 32+24*wireMaxRlimits+size)
	for _, v := range [...]uint32{wireMagic, kindStart, uint32(len(argv)), uint32(len(env)), uint32(len(rlimits)),
		uint32(size), flags, named} {
		b = le.AppendUint32(b, v)
	}

	for i := range wireMaxRlimits {
		var l wireLimit
		if i < len(rlimits) {
			l = rlimits[i]
		}
		b = le.AppendUint64(b, uint64(l.Resource))
		b = le.AppendUint64(b, l.Soft)
		b = le.AppendUint64(b, l.Hard)
	}

	for _, words := range [][]string{argv, env} {
		for _, w := range words {
			b = append(append(b, w...), 0)
		}
	}

	return b, nil
}
