// Package testservice starts a separate brig serve for a tool or a test.
package testservice

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Service is a running brig serve.
type Service struct {
	URL  string
	Cmd  *exec.Cmd
	Log  *Log          // its standard error
	Done chan struct{} // closed when it has ended

	err error // result of Wait; valid after Done is closed
}

// A Log holds the output of a process so far. It is a file, like the agent's log: a
// goroutine that reads a pipe would take processor time from the measured programs.
type Log struct {
	mu   sync.Mutex
	file *os.File // guarded by mu; nil: the process has ended
	text string   // guarded by mu; the whole output, after the process has ended
}

func newLog() (*Log, error) {
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return &Log{file: os.NewFile(uintptr(fd), "log")}, nil
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.text
	}
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, math.MaxInt64))
	if err != nil {
		return fmt.Sprintf("%s\n(log not readable: %v)", text, err)
	}
	return string(text)
}

// end keeps the text and closes the file.
func (l *Log) end() error {
	text := l.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.file.Close()
	l.file, l.text = nil, text
	return err
}

var servesAt = regexp.MustCompile(`brig serves (\S+);`)

// Start starts the brig binary as a service on a free loopback address, without images
// except those that flags name. It waits at most wait until the service listens.
func Start(brig string, wait time.Duration, flags ...string) (*Service, error) {
	log, err := newLog()
	if err != nil {
		return nil, err
	}

	s := &Service{Log: log, Done: make(chan struct{})}
	s.Cmd = exec.Command(brig, append([]string{"serve", "--listen", "127.0.0.1:0", "--images", ""}, flags...)...)
	s.Cmd.Stderr = log.file
	s.Cmd.Env = append(os.Environ(), "SANDBOX_PORT=", "BRIG_SOCKET=")
	if err := s.Cmd.Start(); err != nil {
		return nil, errors.Join(err, log.end())
	}

	go func() { s.err = errors.Join(s.Cmd.Wait(), log.end()); close(s.Done) }()
	late := time.After(wait)
	for {
		if m := servesAt.FindStringSubmatch(s.Log.String()); m != nil {
			s.URL = "http://" + m[1]
			return s, nil
		}
		select {
		case <-s.Done:
			return nil, fmt.Errorf("brig serve ended: %w\n%s", s.err, s.Log)
		case <-late:
			return nil, errors.Join(fmt.Errorf("brig serve did not start to listen in time\n%s", s.Log), s.Stop(0))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop ends the service as a service manager would, and returns the error of its exit. It
// may be called after the service has ended. A service that does not end in time is killed.
func (s *Service) Stop(within time.Duration) error {
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.Done:
		return s.err
	case <-time.After(within):
	}
	err := s.Cmd.Process.Kill()
	<-s.Done
	return errors.Join(fmt.Errorf("brig serve did not stop in time\n%s", s.Log), err)
}
