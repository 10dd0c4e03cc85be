package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

const defaultSocket = "/run/brig/brigd.sock"

// startAgent starts an agent that brig serve, and who is in the group, can use as well.
const startAgent = "sudo groupadd -f brig; sudo brigd --group brig &"

func socketFlag(f *pflag.FlagSet) *string {
	return f.String("socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+defaultSocket+")")
}

// An agentHandle is the agent a command speaks to: the one that answers on the
// socket, or a private one that lives as long as the command.
type agentHandle struct {
	*client.Client
	socket  string
	private *privateAgent // nil: not ours
}

// connect finds the agent. A socket that was named must answer; where none was
// named and nobody answers on the usual one, root gets a private agent, with flags. It serves
// one command, and holds no image in memory.
func (c *console) connect(socket string, flags ...string) (*agentHandle, error) {
	return c.connectAs(socket, os.Geteuid(), append([]string{"--image-memory=read"}, flags...)...)
}

// connectAs is connect for one who will be another user when he uses it.
func (c *console) connectAs(socket string, uid int, flags ...string) (*agentHandle, error) {
	named := socket
	if named == "" {
		named = c.env("BRIG_SOCKET")
	}
	if named != "" {
		return &agentHandle{Client: client.New(named), socket: named}, nil
	}
	probe, err := net.Dial("unix", defaultSocket)
	if err == nil {
		return &agentHandle{Client: client.New(defaultSocket), socket: defaultSocket}, probe.Close()
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, api.Fail(api.CodeAgentUnreachable, "the agent's socket %s is not yours to use: join the group that brigd was started for (brigd --group NAME), or use sudo", defaultSocket)
	case os.Geteuid() != 0:
		return nil, api.Fail(api.CodeAgentUnreachable, "no agent answers on %s: start one (%s), name another socket with --socket, or use sudo, which starts an agent for this one command", defaultSocket, startAgent)
	}
	p, err := startPrivate(uid, flags)
	if err != nil {
		return nil, err
	}
	return &agentHandle{Client: client.New(p.socket), socket: p.socket, private: p}, nil
}

// Close stops a private agent and waits for it.
func (a *agentHandle) Close() {
	a.Client.Close()
	if a.private != nil {
		a.private.stop()
	}
}

// abandon leaves without waiting: a private agent ends by itself.
func (a *agentHandle) abandon() {
	if a != nil && a.private != nil {
		os.RemoveAll(a.private.dir)
	}
}

// explain adds what a private agent said before it went away.
func (a *agentHandle) explain(err error) error {
	var e *api.Error
	if a.private == nil || !errors.As(err, &e) || e.Code != api.CodeAgentGone && e.Code != api.CodeAgentUnreachable {
		return err
	}
	a.private.stop()
	said := a.private.stderr.String()
	if said == "" {
		said = "it said nothing"
	}
	return api.Fail(api.CodeAgentGone, "the private agent went away: %s", said)
}

// A privateAgent is a brigd of ours. It serves a socket that we made in a
// directory only we may enter, and ends when its lifeline, a pipe whose other
// end we hold, is closed: also when we are killed.
type privateAgent struct {
	cmd      *exec.Cmd
	dir      string
	socket   string
	lifeline *os.File
	stderr   *tail
	once     sync.Once
	ended    chan struct{} // closed when it has
	end      error         // how, once it has; nil: as it was asked to
}

func startPrivate(uid int, flags []string) (_ *privateAgent, err error) {
	bin, err := findBrigd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "brig-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make the private agent's directory: %w", err)
	}
	p := &privateAgent{dir: dir, socket: filepath.Join(dir, "brigd.sock"), stderr: new(tail)}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // the child goes on listening
	defer ln.Close()
	if err := errors.Join(os.Chown(p.socket, uid, -1), os.Chown(dir, uid, -1)); err != nil { // the socket while the directory is still ours alone
		return nil, err
	}
	sock, err := ln.File()
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()

	p.lifeline = ours
	p.cmd = exec.Command(bin, append([]string{"--private", "--listen-fd", "3"}, flags...)...)
	p.cmd.ExtraFiles = []*os.File{sock, theirs} // 3 and 4
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for us to pass on
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the private agent: %w", err)
	}
	p.ended = make(chan struct{})
	go func() { // until it ends, which stop sees to and waits for
		defer close(p.ended)
		p.end = p.cmd.Wait()
	}()
	return p, nil
}

// during gives a context that is done as well when a private agent ends before it does:
// killed for want of memory, say. The cause is then the error to end with. Nobody starts
// another: root is given up by then. done ends the watch and waits for it.
func (a *agentHandle) during(ctx context.Context) (_ context.Context, done func()) {
	if a.private == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-a.private.ended:
			cancel(a.private.lost())
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil); watch.Wait() }
}

// lost is the error of a service whose agent has ended by itself. One that was not
// killed may have said why.
func (p *privateAgent) lost() error {
	how, said := "exit status 0", p.stderr.String()
	if p.end != nil {
		how = p.end.Error()
	}
	if said == "" || !p.cmd.ProcessState.Exited() {
		return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again", how)
	}
	return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again; it said: %s", how, said)
}

// findBrigd looks beside brig's own binary, then in PATH.
func findBrigd() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "brigd")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	bin, err := exec.LookPath("brigd")
	if err != nil {
		return "", api.Refuse(api.CodeAgentUnreachable, "no agent answers on %s and brigd is neither beside brig nor in PATH: install it, or name an agent's socket with --socket", defaultSocket)
	}
	return bin, nil
}

// stopTime is how long a private agent may take to leave nothing behind.
const stopTime = 15 * time.Second

func (p *privateAgent) stop() {
	p.once.Do(func() {
		p.lifeline.Close()
		late := time.AfterFunc(stopTime, func() { p.cmd.Process.Kill() })
		defer late.Stop()
		<-p.ended
		os.RemoveAll(p.dir)
	})
}

// A tail keeps the last of what an agent writes.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

const tailMax = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailMax; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(bytes.ToValidUTF8(t.text, []byte("?"))))
}
