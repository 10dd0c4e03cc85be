package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// admitEnv passes the bounds to the child and marks it as the child: a binary that does not call
// AdmitMain must not start itself endlessly.
const admitEnv = "BRIG_ADMIT"

// childRoot is the host uid and gid that uid 0 of the child's user namespace maps to. The child has
// it only for the few instructions before it becomes nobody. The id ranges that the usual
// distributions allocate end below it (systemd's at 1,878,982,656).
const childRoot = 2_000_065_535

func boundsToEnv(k kind, b Bounds) string {
	return fmt.Sprintf("%s=%d:%d:%d:%d:%d:%d", admitEnv, k, b.Bytes, b.Input, b.Entries, b.Ratio, int64(b.Time))
}

func boundsFromEnv() (kind, Bounds, error) {
	var v [6]int64
	parts := strings.Split(os.Getenv(admitEnv), ":")
	if len(parts) != len(v) {
		return 0, Bounds{}, errors.New("only brigd may start its admission child")
	}

	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return 0, Bounds{}, err
		}
		v[i] = n
	}

	return kind(v[0]), Bounds{Bytes: v[1], Input: v[2], Entries: v[3], Ratio: v[4],
		Time: time.Duration(v[5])}.WithDefaults(), nil
}

func newStreamWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 1<<18) }

// report writes a refusal to standard error, for the parent, one field per line, and returns the
// exit status.
func report(err error) int {
	r := &refusal{kind: kindInternal, reason: err.Error()}
	errors.As(err, &r)
	line := func(s string) string {
		if len(s) > 1000 {
			s = s[:1000]
		}
		return strconv.Quote(s)
	}
	fmt.Fprintf(os.Stderr, "%s\n%s\n%s\n", r.kind, line(r.member), line(r.reason))
	return 1
}

// readReport parses the output of report. Any other text means that the child itself failed, for
// example because its Go runtime ran out of memory.
func readReport(text string) *refusal {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) == 4 {
		member, err1 := strconv.Unquote(lines[1])
		reason, err2 := strconv.Unquote(lines[2])
		if err1 == nil && err2 == nil {
			return &refusal{lines[0], member, reason}
		}
	}
	if outOfMemory().MatchString(text) {
		return &refusal{kind: kindTooLarge,
			reason: "unpacking it needs more memory than the limit of an import: compress it with a smaller " +
				"dictionary or window, for example with xz -9 or zstd -19"}
	}

	first, _, _ := strings.Cut(text, "\n")
	return &refusal{kind: kindInternal, reason: first}
}

// outOfMemory matches what Go's runtime prints when it gets no memory (runtime/mem_linux.go,
// malloc.go), or none for a thread's stack (runtime/cgo/gcc_libinit.c, os_linux.go). An archive can
// cause that. decompress reads only the header of the first block of an .xz; a later block can name
// a dictionary of up to 4 GiB, which the decompressor allocates at once (IMG-30).
//
// While that allocation fails, the garbage collector may ask for memory too. Go 1.26 does not check
// what it gets for a queue of spans (newSpanSPMC in runtime/mgcmark_greenteagc.go) and then crashes
// at an address in the first page.
var outOfMemory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(fatal error: )?(runtime: |runtime/cgo: )?(out of memory|cannot allocate memory|cannot map pages|pthread_create failed|failed to create new OS thread)` +
		`|^SIGSEGV: segmentation violation\nPC=\S+ m=\d+ sigcode=1 addr=0x[0-9a-f]{1,3}\n(.*\n)*?runtime\.\(\*span(Queue|SPMC)\)\.`)
})

// A child is the admission child process: it reads the archive from stdin and writes the canonical
// stream to stdout.
type child struct {
	cmd    *exec.Cmd
	stdout io.ReadCloser
	stderr *cappedBuffer
	stdin  io.WriteCloser
}

// newChild prepares the admission child: this binary again, in its own namespaces, as an
// unprivileged user from its first instruction on.
func newChild(ctx context.Context, empty *os.File, k kind, b Bounds) *child {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", AdmitArg)

	// With a fixed number of processors the runtime does not read it from /sys.
	cmd.Env = []string{"GOMAXPROCS=2", boundsToEnv(k, b)}
	if raceDetector {
		cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // otherwise every import takes 1 s longer
	}

	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{empty}
	cmd.WaitDelay = 10 * time.Second
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: childRoot, Size: 1},
		{ContainerID: nobody, HostID: nobody, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{},
		Setsid:     true,
	}

	c := &child{cmd: cmd, stderr: &cappedBuffer{}}
	cmd.Stderr = c.stderr
	return c
}

// start starts the child.
func (c *child) start() (err error) {
	if os.Getenv(admitEnv) != "" {
		return errors.New("start admission child: this program does not call archive.AdmitMain")
	}
	if os.Geteuid() != 0 {
		return errors.New("start admission child: importing an image needs root")
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return err
	}

	for _, p := range []any{c.stdin, c.stdout} {
		widen(p)
	}

	if err := c.cmd.Start(); err != nil {
		if errors.Is(err, os.ErrPermission) {
			self, _ := os.Executable() // only for the text
			return fmt.Errorf("start admission child: %w: the child runs this program as user nobody: try chmod a+rx %s", err,
				self)
		}
		return fmt.Errorf("start admission child (it needs user namespaces): %w", err)
	}

	return nil
}

// widen makes room for more bytes in a pipe, so that the two processes take turns less often. Beyond
// the user's share of memory for pipes the kernel refuses it: then the pipe stays as it is.
func widen(pipe any) {
	if p, ok := pipe.(syscall.Conn); ok {
		if raw, err := p.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
		}
	}
}

// wait waits for the child to end. The error is the child's report, or how it died.
func (c *child) wait() error {
	err := c.cmd.Wait()
	switch {
	case err == nil:
		return nil
	case c.stderr.text.Len() > 0:
		return readReport(c.stderr.text.String()).err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGSYS {
		return fmt.Errorf("admit archive: the child made a system call its filter does not allow: %w", err)
	}
	return fmt.Errorf("admit archive: %w", err)
}

// cappedBuffer keeps the first 4 KiB of the child's error output.
type cappedBuffer struct{ text bytes.Buffer }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if free := 4096 - b.text.Len(); free > 0 {
		b.text.Write(p[:min(len(p), free)])
	}
	return len(p), nil
}
