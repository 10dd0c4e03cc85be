package cli

import (
	"io"
	"os"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// How long the answers of a terminal are waited for, in ms: its first one, the next one after it, and all. A terminal
// answers in order and at once, but may be at the far end of a slow line.
const (
	firstAnswer = 1000
	nextAnswer  = 50
	allAnswers  = 5000
)

// kind asks a terminal what it is, which nearly each one answers (DA1), and named is an answer.
const kind = "\x1b[c"

var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[\?[0-9;]*c`) })

// dropAnswers reads, from a raw terminal, what it still answers to a program. It asks it a question of its own: the
// answers to earlier ones arrive in front of this answer.
func dropAnswers(in *os.File, out io.Writer) error {
	if _, err := io.WriteString(out, kind); err != nil {
		return err
	}

	var seen []byte
	buf := make([]byte, 4096)
	wait := firstAnswer
	for until := time.Now().Add(allAnswers * time.Millisecond); time.Now().Before(until); {
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		if err := poll(fds, wait); err != nil {
			return err
		}
		if fds[0].Revents&unix.POLLIN == 0 { // it has answered, answers nothing or is gone
			return nil
		}

		n, err := in.Read(buf)
		if err != nil {
			return err
		}
		seen = append(seen, buf[:n]...)
		if named().Match(seen) {
			wait = nextAnswer
		}
		seen = seen[max(0, len(seen)-len(buf)):]
	}
	return nil
}
