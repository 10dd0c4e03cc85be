package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/brig-sandbox/brig/internal/child"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// Command is the hidden command of brig that reads registries and archives of layers for brig rootfs pull and import.
// Its main function is oci.ChildMain.
const Command = "image-reader"

// A Process is a running reader.
type Process struct {
	*oci.Receiver
	cmd  *exec.Cmd
	in   io.Closer
	says *child.Words
	note func(said string)
}

// Start starts the process that reads an image, and tells it what to read. file may be nil. What it says on
// stderr is given to note.
//
// A hostile registry or archive may take the process over, and other processes may have its uid. So it
// gets no terminal, which TIOCSTI would type into, nothing of the session of its caller, and no secret
// in its environment. The credentials follow when it has said that it is not dumpable: other processes
// of its uid can neither trace it nor read its memory and descriptors (IMG-43,
// TestTheReaderIsOutOfReach).
func (u User) Start(ctx context.Context, env func(string) string, r oci.Request, file *os.File,
	note func(said string)) (_ *Process, err error) {
	r.Cache = "/var/tmp" // for a file that is uncompressed
	r.Env = u.settings(env)
	if r.Reference != "" {
		r.Cache = u.cache
		if err := u.makeCache(); err != nil {
			return nil, fmt.Errorf("read image: %w", err)
		}
		if r.Credentials, err = u.credentials(env); err != nil {
			return nil, fmt.Errorf("read the credentials for registries: %w", err)
		}
	}

	cmd, says := child.Command(ctx, Command, u.Credential)
	cmd.WaitDelay = 5 * time.Second
	if file == nil {
		if file, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
		defer file.Close()
	}

	cmd.ExtraFiles = []*os.File{file} // oci.FileFD
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that reads the image: %w", err)
	}

	p := &Process{oci.NewReceiver(out, in), cmd, in, says, note}
	if err := p.Send(r); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the reader and waits for it. What it had to say was received before.
func (p *Process) Close() error {
	err := p.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if kerr := p.cmd.Process.Kill(); kerr != nil && !errors.Is(kerr, os.ErrProcessDone) {
		err = errors.Join(err, kerr)
	}

	var exit *exec.ExitError
	if werr := p.cmd.Wait(); werr != nil && !errors.As(werr, &exit) && !errors.Is(werr, exec.ErrWaitDelay) &&
		!errors.Is(werr, context.Canceled) {
		err = errors.Join(err, werr)
	}
	if said := p.says.String(); said != "" {
		p.note(said)
	}
	return err
}
