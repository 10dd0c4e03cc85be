// Package child starts this program again, as a process that reads what strangers wrote.
package child

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/brig-sandbox/brig/internal/terminal"
)

// Command returns a command of this program, as another user unless as is nil. It gets nothing of the session and
// the environment of its caller. What it says on stderr is in the words.
func Command(ctx context.Context, name string, as *syscall.Credential) (*exec.Cmd, *Words) {
	cmd, words := exec.CommandContext(ctx, "/proc/self/exe", name), new(Words)
	cmd.Dir, cmd.Stderr, cmd.Env = "/", words, []string{"HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setsid: true}
	return cmd, words
}

// Words keep the first bytes of what is written to them.
type Words struct{ text []byte }

const maxWords = 4 << 10

func (w *Words) Write(p []byte) (int, error) {
	w.text = append(w.text, p[:min(len(p), maxWords-len(w.text))]...)
	return len(p), nil
}

// String returns them in one line.
func (w *Words) String() string { return terminal.OneLine(string(w.text)) }
