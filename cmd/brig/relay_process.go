package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// relayName is the hidden command that relays the network of a run whose caller is root. Hostile programs
// and the hosts that they reach write what a relay reads (TestNetworkIsRelayedWithoutRoot).
const relayName = "relay"

func relayCommand(c *cli) *cobra.Command {
	k, _ := newCommand(relayName, `
Relay the network of a run. It is started by brig alone.`)
	return c.does(k, func() int {
		if err := relayMain(os.Stdin, os.Stdout); err != nil {
			return c.fail(err)
		}
		return 0
	})
}

// A relayStart is what the process of a relay gets first. The sockets are its descriptors from
// relaySockets on.
type relayStart struct {
	relayRequest
	Sockets int `json:"sockets"`
}

const relaySockets = 3

// A relayReply is what the process says: once when it relays, or cannot, and once at its end.
type relayReply struct {
	Error *api.Error        `json:"error,omitempty"`
	Usage *api.NetworkUsage `json:"usage,omitempty"`
}

// relayMain is the main function of the process that relays. It ends when in does: its parent has closed
// it, or was killed (TestNetworkRelayEndsWithBrig). Other processes of its uid can neither trace it nor take its sockets.
func relayMain(in io.Reader, out io.Writer) error {
	if err := errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
		return os.NewSyscallError("prctl", err)
	}

	var r relayStart
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	var sockets []*os.File
	for i := range r.Sockets {
		sockets = append(sockets, os.NewFile(uintptr(relaySockets+i), "socket"))
	}

	say := json.NewEncoder(out)
	relay, err := r.start(context.Background(), sockets)
	if err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = api.Fail(api.CodeInternal, "%w", err)
		}
		return say.Encode(relayReply{Error: e})
	}

	err = say.Encode(relayReply{})
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}

	used := relay.Close()
	return errors.Join(err, say.Encode(relayReply{Usage: &used}))
}

// A relayProcess is a relay in a process of its own.
type relayProcess struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *json.Decoder
	says *shortText
}

// startRelayProcess starts a relay as the user for whom root acts, or as one that nobody else is. The
// signals of the terminal are for brig alone, which ends the process.
func (c *cli) startRelayProcess(ctx context.Context, r relayRequest, sockets []*os.File) (_ *relayProcess, err error) {
	defer closeAll(sockets)

	who, err := c.chooseReader()
	if err != nil {
		return nil, err
	}

	p := &relayProcess{cmd: exec.Command("/proc/self/exe", relayName), says: new(shortText)}
	p.cmd.Dir, p.cmd.Stderr, p.cmd.ExtraFiles = "/", p.says, sockets
	p.cmd.Env = []string{"HOME=/nonexistent"}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential, Setsid: true}
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

	if err := json.NewEncoder(in).Encode(relayStart{r, len(sockets)}); err != nil {
		return nil, errors.Join(err, p.wait())
	}
	if _, err := p.reply(); err != nil {
		return nil, errors.Join(err, p.wait())
	}
	return p, nil
}

// reply reads the next reply of the process.
func (p *relayProcess) reply() (r relayReply, err error) {
	if err := p.out.Decode(&r); err != nil {
		return r, fmt.Errorf("the process that relays says nothing: %w", err)
	}
	if r.Error != nil {
		return r, r.Error
	}
	return r, nil
}

// close ends the relay and returns what it relayed.
func (p *relayProcess) close() (api.NetworkUsage, error) {
	cerr := p.in.Close()
	reply, err := p.reply()
	if err == nil && reply.Usage == nil {
		err = errors.New("BUG: the process that relays ended without its usage")
	}
	if err = errors.Join(cerr, err, p.wait()); err != nil {
		return api.NetworkUsage{}, fmt.Errorf("what the run reached is unknown: %w", err)
	}
	return *reply.Usage, nil
}

// wait waits for the end of the process, which has no input any more.
func (p *relayProcess) wait() error {
	_ = p.in.Close() // it may be closed
	err := p.cmd.Wait()
	if err != nil && len(p.says.text) > 0 {
		err = fmt.Errorf("%w: %s", err, oneLine(string(p.says.text)))
	}
	return err
}
