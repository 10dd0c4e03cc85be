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

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

const defaultSocket = "/run/brig/brigd.sock"

// startAgent is the command that starts an agent which brig serve and members of the group can use
// too.
const startAgent = "sudo groupadd -f brig; sudo brigd --group brig &"

func socketFlag(f *pflag.FlagSet) *string {
	return f.String("socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+defaultSocket+")")
}

// An agentHandle is the agent that a command uses: the one that answers on the socket, or a
// private one that lives as long as the command.
type agentHandle struct {
	*client.Client
	socket  string
	private *privateAgent // nil: not started by this command
}

// connect finds the agent. A socket that was named must answer. If none was named and no agent
// answers on the usual one, root gets a private agent, started with flags. It serves one command,
// and holds no image in memory.
func (c *cli) connect(socket string, flags ...string) (*agentHandle, error) {
	return c.connectAs(socket, os.Geteuid(),
		append([]string{"--image-memory=read", "--template-memory=none"}, flags...)...)
}

// connectAs is connect for a process that will be another user when it uses the agent.
func (c *cli) connectAs(socket string, uid int, flags ...string) (*agentHandle, error) {
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
		return nil, api.Fail(api.CodeAgentUnreachable,
			"you have no access to the agent's socket %s: join the group that brigd was started with (brigd --group NAME), or use sudo", defaultSocket)
	case os.Geteuid() != 0:
		return nil, api.Fail(api.CodeAgentUnreachable,
			"no agent answers on %s: start one (%s), name another socket with --socket, or use sudo, which starts an agent for this command only", defaultSocket, startAgent)
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

// explain adds the last output of a private agent that has ended.
func (a *agentHandle) explain(err error) error {
	var e *api.Error
	if a.private == nil || !errors.As(err, &e) || e.Code != api.CodeAgentGone && e.Code != api.CodeAgentUnreachable {
		return err
	}
	a.private.stop()
	output := a.private.stderr.String()
	if output == "" {
		output = "it printed nothing"
	}
	return api.Fail(api.CodeAgentGone, "the private agent ended unexpectedly: %s", output)
}

// A privateAgent is a brigd that this command started. It serves a socket that the command made in
// a directory that only its user may enter. It ends when its lifeline is closed, a pipe whose other
// end the command holds: also when the command is killed.
type privateAgent struct {
	cmd      *exec.Cmd
	dir      string
	socket   string
	lifeline *os.File
	stderr   *tail
	once     sync.Once
	ended    chan struct{} // closed when it has
	exitErr  error         // how it ended, once ended is closed; nil: exit status 0
}

func startPrivate(uid int, flags []string) (_ *privateAgent, err error) {
	bin, err := findBrigd()
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "brig-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("create the private agent's directory: %w", err)
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

	if err := errors.Join(os.Chown(p.socket, uid, -1),
		os.Chown(dir, uid, -1)); err != nil { // the socket first, while no other user can enter the directory
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
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must reach this process only
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the private agent: %w", err)
	}

	p.ended = make(chan struct{})
	go func() { // lives until the agent ends; stop makes it end and waits
		defer close(p.ended)
		p.exitErr = p.cmd.Wait()
	}()
	return p, nil
}

// cancelOnAgentEnd returns a context that is also canceled if a private agent ends first, for example killed
// for lack of memory. The cause is then the error to end with. No other agent is started, since
// root has been given up by then. done ends the watching goroutine and waits for it.
func (a *agentHandle) cancelOnAgentEnd(ctx context.Context) (_ context.Context, done func()) {
	if a.private == nil {
		return ctx, func() {}
	}

	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-a.private.ended:
			cancel(a.private.endError())
		case <-ctx.Done():
		}
	})

	return ctx, func() { cancel(nil); watch.Wait() }
}

// endError is the error of a service whose agent has ended by itself. An agent that was not killed may
// have printed the reason.
func (p *privateAgent) endError() error {
	how, output := "exit status 0", p.stderr.String()
	if p.exitErr != nil {
		how = p.exitErr.Error()
	}
	if output == "" || !p.cmd.ProcessState.Exited() {
		return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again", how)
	}
	return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again; its last output: %s", how, output)
}

// findBrigd looks for brigd next to brig's own binary, then in PATH.
func findBrigd() (string, error) {
	if self, err := os.Executable(); err == nil {
		sibling := filepath.Join(filepath.Dir(self), "brigd")
		if info, err := os.Stat(sibling); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return sibling, nil
		}
	}
	bin, err := exec.LookPath("brigd")
	if err != nil {
		return "", api.Refuse(api.CodeAgentUnreachable,
			"no agent answers on %s, and brigd is neither next to brig nor in PATH: install it, or name an agent's socket with --socket", defaultSocket)
	}
	return bin, nil
}

// stopTime is how long a private agent may take to clean up.
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

// A tail keeps the last tailMax bytes of what is written to it.
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
