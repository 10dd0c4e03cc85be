package caller

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A private agent is a brigd that this command started. It serves a socket that the command made in
// a directory that only its user may enter. It ends when its lifeline is closed, a pipe whose other
// end the command holds: also when the command is killed.
type private struct {
	cmd      *exec.Cmd
	dir      string
	socket   string
	lifeline *os.File
	stderr   *Tail
	once     sync.Once
	ended    chan struct{} // closed when it has
	exitErr  error         // how it ended, once ended is closed; nil: exit status 0
}

func start(uid int, flags []string) (_ *private, err error) {
	bin, err := FindBrigd()
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "brig-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("create the private agent's directory: %w", err)
	}

	p := &private{dir: dir, socket: filepath.Join(dir, "brigd.sock"), stderr: new(Tail)}
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

// endError is the error of a service whose agent has ended by itself. An agent that was not killed may
// have printed the reason.
func (p *private) endError() error {
	how, output := "exit status 0", p.stderr.String()
	if p.exitErr != nil {
		how = p.exitErr.Error()
	}
	if output == "" || !p.cmd.ProcessState.Exited() {
		return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again", how)
	}
	return api.Fail(api.CodeAgentGone, "the agent ended (%s): start brig serve again; its last output: %s", how, output)
}

// FindBrigd looks for brigd next to brig's own binary, then in PATH.
func FindBrigd() (string, error) {
	if self, err := os.Executable(); err == nil {
		sibling := filepath.Join(filepath.Dir(self), "brigd")
		if info, err := os.Stat(sibling); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return sibling, nil
		}
	}
	bin, err := exec.LookPath("brigd")
	if err != nil {
		return "", api.Refuse(api.CodeAgentUnreachable,
			"no agent answers on %s, and brigd is neither next to brig nor in PATH: "+
				"install it, or name an agent's socket with --socket", DefaultSocket)
	}
	return bin, nil
}

// stopTime is how long a private agent may take to clean up.
const stopTime = 15 * time.Second

func (p *private) stop() {
	p.once.Do(func() {
		p.lifeline.Close()
		late := time.AfterFunc(stopTime, func() { p.cmd.Process.Kill() })
		defer late.Stop()
		<-p.ended
		os.RemoveAll(p.dir)
	})
}
