// Package ownservice gives a tool or a test a brig serve of its own.
package ownservice

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

// A Service is one that answers.
type Service struct {
	URL  string
	Cmd  *exec.Cmd
	Log  *Log          // what it tells
	Done chan struct{} // closed when it has ended

	err error // of Wait, when done
}

// A Log is what a process has written so far. It is a file, as an agent's is here: a
// reader of ours would take processor time from what is measured.
type Log struct {
	mu   sync.Mutex
	file *os.File // guarded by mu; nil: the process has ended
	text string   // guarded by mu; all of it, then
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

// Start starts brig, the binary, as a service on an address of loopback's that is free,
// without images but those that flags name, and waits so long until it answers.
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
			return nil, errors.Join(fmt.Errorf("brig serve does not listen\n%s", s.Log), s.Stop(0))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop ends it as a service manager would, and says how it ended. One that has ended
// already has.
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
	return errors.Join(fmt.Errorf("brig serve does not stop\n%s", s.Log), err)
}
