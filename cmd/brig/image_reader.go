package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/internal/child"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// imageReaderName is the hidden command that reads registries and archives of layers, without
// privilege, for brig rootfs pull and import.
const imageReaderName = "image-reader"

func imageReaderCommand(c *cli) *cobra.Command {
	k, _ := newCommand(imageReaderName, `
Read an image for brig rootfs pull. It is started by brig alone.`)
	return c.does(k, func() int { return oci.ChildMain(os.Stdin, os.Stdout) })
}

// An imageReader is a running reader.
type imageReader struct {
	*oci.Receiver
	cmd  *exec.Cmd
	in   io.Closer
	says *child.Words
	note func(format string, args ...any)
}

// startReader starts the process that reads an image, and tells it what to read. file may be nil.
//
// A hostile registry or archive may take the process over, and other processes may have its uid. So it
// gets no terminal, which TIOCSTI would type into, nothing of the session of its caller, and no secret
// in its environment. The credentials follow when it has said that it is not dumpable: other processes
// of its uid can neither trace it nor read its memory and descriptors (IMG-43,
// TestTheReaderIsOutOfReach).
func (c *cli) startReader(ctx context.Context, who reader, r oci.Request, file *os.File) (_ *imageReader, err error) {
	r.Cache = "/var/tmp" // for a file that is uncompressed
	r.Env = who.settings(c.env)
	if r.Reference != "" {
		r.Cache = who.cache
		if err := who.makeCache(); err != nil {
			return nil, fmt.Errorf("read image: %w", err)
		}
		if r.Credentials, err = c.credentialsFor(who); err != nil {
			return nil, fmt.Errorf("read the credentials for registries: %w", err)
		}
	}

	cmd, says := child.Command(ctx, imageReaderName, who.credential)
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

	p := &imageReader{oci.NewReceiver(out, in), cmd, in, says, c.note}
	if err := p.Send(r); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// close ends the reader and waits for it. What it had to say was received before.
func (p *imageReader) close() error {
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
		p.note("the process that reads the image says: %s", said)
	}
	return err
}
