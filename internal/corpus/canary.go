package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Canaries are things of the host that a probe would have to touch to get out: a file, a process,
// listeners on loopback and on unix sockets.
type Canaries struct {
	Dir, File string // the directory of the files; the file that holds Secret
	Victim    int    // pid of a process that does nothing

	victim  *exec.Cmd
	tcp     *net.TCPListener
	unix    []*net.UnixListener // abstract, path
	gram    *net.UnixConn       // abstract
	hits    atomic.Int64
	waiting sync.WaitGroup
}

// Secret is the content of the host's file. EnvSecret is the value of EnvName in the agent's
// environment, if the process that starts the agent sets it.
const (
	Secret    = "canary-of-the-host-file"
	EnvName   = "BRIG_HOSTILE_CANARY"
	EnvSecret = "canary-of-the-agents-environment"
)

// Plant creates the canaries. Close removes them.
func Plant() (*Canaries, error) {
	dir, err := os.MkdirTemp("/var/tmp", "hostile-")
	if err != nil {
		return nil, err
	}
	c := &Canaries{Dir: dir, File: filepath.Join(dir, "secret")}
	if err := c.plant(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Canaries) plant() (err error) {
	dir := c.Dir
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(c.File, []byte(Secret), 0o644)); err != nil {
		return err
	}
	if c.tcp, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return err
	}

	c.waiting.Go(func() { c.count(c.tcp) })
	sock := filepath.Join(dir, "sock")
	for _, name := range []string{"@brig-hostile-canary-" + filepath.Base(dir), sock} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		if err != nil {
			return err
		}
		c.unix = append(c.unix, l)
		c.waiting.Go(func() { c.count(l) })
	}

	if err := os.Chmod(sock, 0o777); err != nil {
		return err
	}
	if c.gram, err = net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: "@brig-hostile-datagram-" + filepath.Base(dir), Net: "unixgram"}); err != nil {
		return err
	}

	c.waiting.Go(func() {
		for {
			if _, err := c.gram.Read(make([]byte, 1)); err != nil {
				return
			}
			c.hits.Add(1)
		}
	})

	c.victim = exec.Command("cat")
	c.victim.Args = []string{"hostile-canary-process"}
	if _, err := c.victim.StdinPipe(); err != nil { // it ends with this process, however that ends
		return err
	}
	if err := c.victim.Start(); err != nil {
		return err
	}

	c.Victim = c.victim.Process.Pid
	return nil
}

// count counts connections until the listener closes.
func (c *Canaries) count(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.hits.Add(1)
		conn.Close()
	}
}

// Hits returns how often a listener was reached, and resets the count to zero if forget is set.
func (c *Canaries) Hits(forget bool) int64 {
	if forget {
		return c.hits.Swap(0)
	}
	return c.hits.Load()
}

// Touched names the canaries that a probe reached, or none, and resets them.
func (c *Canaries) Touched() []string {
	var all []string
	if b, err := os.ReadFile(c.File); err != nil || string(b) != Secret {
		all = append(all, fmt.Sprintf("host file: %q, %v", b, err))
	}
	if n := c.Hits(true); n != 0 {
		all = append(all, fmt.Sprintf("%d connections reached the host's listeners", n))
	}
	if err := unix.Kill(c.Victim, 0); err != nil {
		all = append(all, fmt.Sprintf("host process: %v", err))
	}

	var info unix.Siginfo // only looked at, not reaped: Close does that
	if err := unix.Waitid(unix.P_PID, c.Victim, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT,
		nil); err != nil || info.Signo != 0 {
		all = append(all, fmt.Sprintf("host process was ended (%v)", err))
	}
	return all
}

// Secrets returns the texts that no output may contain.
func (c *Canaries) Secrets() []string { return []string{Secret, EnvSecret} }

// Expand replaces the placeholders in arguments by the canaries.
func (c *Canaries) Expand(args []string) []string {
	r := strings.NewReplacer("$CANARY", c.File, "$PORT", fmt.Sprint(c.tcp.Addr().(*net.TCPAddr).Port),
		"$ENVCANARY", EnvSecret,
		"$ABSTRACT", c.unix[0].Addr().String(), "$SOCK", c.unix[1].Addr().String(),
		"$DATAGRAM", c.gram.LocalAddr().String(), "$VICTIM", fmt.Sprint(c.Victim))
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = r.Replace(a)
	}
	return out
}

// Close removes the canaries and waits for their goroutines.
func (c *Canaries) Close() error {
	var errs []error
	if c.victim != nil && c.victim.Process != nil {
		_ = c.victim.Process.Kill() // it may have ended already: Touched reports that
		_ = c.victim.Wait()
	}

	var open []io.Closer
	if c.tcp != nil {
		open = append(open, c.tcp)
	}

	for _, l := range c.unix {
		open = append(open, l)
	}

	if c.gram != nil {
		open = append(open, c.gram)
	}

	for _, l := range open {
		errs = append(errs, l.Close())
	}

	c.waiting.Wait()
	return errors.Join(append(errs, os.RemoveAll(c.Dir))...)
}
