// Package ownservice gives a tool or a test a brig serve of its own.
package ownservice

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// A Service is one that answers.
type Service struct {
	URL  string
	Cmd  *exec.Cmd
	Log  *Log          // what it tells
	Done chan struct{} // closed when it has ended

	err error // of Wait, when done
}

// A Log is what a process has written so far.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var servesAt = regexp.MustCompile(`brig serves (\S+);`)

// Start starts brig, the binary, as a service on an address of loopback's that is free,
// without images but those that flags name, and waits so long until it answers.
func Start(brig string, wait time.Duration, flags ...string) (*Service, error) {
	s := &Service{Log: new(Log), Done: make(chan struct{})}
	s.Cmd = exec.Command(brig, append([]string{"serve", "--listen", "127.0.0.1:0", "--images", ""}, flags...)...)
	s.Cmd.Stderr = s.Log
	s.Cmd.Env = append(os.Environ(), "SANDBOX_PORT=", "BRIG_SOCKET=")
	if err := s.Cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.err = s.Cmd.Wait(); close(s.Done) }()
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
