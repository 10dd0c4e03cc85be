package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/child"
)

// A processStart is what the process of a relay gets first. The sockets are its descriptors from
// firstSocket on.
type processStart struct {
	Request
	Sockets int `json:"sockets"`
}

const firstSocket = 3

// A reply is what the process says: once when it relays, or cannot, and once at its end.
type reply struct {
	Error *api.Error        `json:"error,omitempty"`
	Usage *api.NetworkUsage `json:"usage,omitempty"`
}

// Main is the main function of the process that relays. It ends when in does: its parent has closed
// it, or was killed (TestNetworkRelayEndsWithBrig). Other processes of its uid can neither trace it nor take its
// sockets.
func Main(in io.Reader, out io.Writer) error {
	if err := errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
		return os.NewSyscallError("prctl", err)
	}

	var r processStart
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	var sockets []*os.File
	for i := range r.Sockets {
		sockets = append(sockets, os.NewFile(uintptr(firstSocket+i), "socket"))
	}

	say := json.NewEncoder(out)
	relay, err := r.start(context.Background(), sockets)
	if err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = api.Fail(api.CodeInternal, "%w", err)
		}
		return say.Encode(reply{Error: e})
	}

	err = say.Encode(reply{})
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}

	used := relay.Close()
	return errors.Join(err, say.Encode(reply{Usage: &used}))
}

// A process is a relay in a process of its own.
type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *json.Decoder
	says *child.Words
}

// startProcess starts a relay as another user. The signals of the terminal are for brig alone, which ends the process.
func startProcess(ctx context.Context, as *syscall.Credential, r Request, sockets []*os.File) (_ *process, err error) {
	defer closeAll(sockets)

	cmd, words := child.Command(context.Background(), Command, as)
	cmd.ExtraFiles = sockets
	p := &process{cmd: cmd, says: words}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	p.in, p.out = in, json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that relays: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() }) // it looks up a name, perhaps
	defer stop()

	if err := json.NewEncoder(in).Encode(processStart{r, len(sockets)}); err != nil {
		return nil, errors.Join(err, p.wait())
	}
	if _, err := p.next(); err != nil {
		return nil, errors.Join(err, p.wait())
	}
	return p, nil
}

// next reads the next reply of the process.
func (p *process) next() (r reply, err error) {
	if err := p.out.Decode(&r); err != nil {
		return r, fmt.Errorf("the process that relays says nothing: %w", err)
	}
	if r.Error != nil {
		return r, r.Error
	}
	return r, nil
}

// close ends the relay and returns what it relayed.
func (p *process) close() (api.NetworkUsage, error) {
	cerr := p.in.Close()
	last, err := p.next()
	if err == nil && last.Usage == nil {
		err = errors.New("BUG: the process that relays ended without its usage")
	}
	if err = errors.Join(cerr, err, p.wait()); err != nil {
		return api.NetworkUsage{}, fmt.Errorf("what the run reached is unknown: %w", err)
	}
	return *last.Usage, nil
}

// wait waits for the end of the process, which has no input any more.
func (p *process) wait() error {
	_ = p.in.Close() // it may be closed
	err := p.cmd.Wait()
	if said := p.says.String(); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return err
}
