package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/child"
	"github.com/brig-sandbox/brig/internal/confine"
	"github.com/brig-sandbox/brig/service/problems"
)

// problemReaderName is the hidden command that reads a package that a caller of brig serve has sent. A
// package may be made to take all memory and time of what reads it (GRD-17).
const problemReaderName = "problem-reader"

func problemReaderCommand(c *cli) *cobra.Command {
	k, _ := newCommand(problemReaderName, `
Read the package of a problem for brig serve. It is started by brig alone.`)
	return c.does(k, func() int {
		if err := problemReaderMain(os.Stdin, os.Stdout); err != nil {
			return c.fail(err)
		}
		return 0
	})
}

// The bounds of the process that reads.
const (
	problemReaderTime = 60 // seconds of processor time
	problemReaderWait = 2 * time.Minute

	archiveFD, packageFD = 3, 4 // its descriptors: what it reads and what it writes
)

// problemReaderReply is what the process says at its end.
type problemReaderReply struct {
	Error *api.Error      `json:"error,omitempty"`
	Parts *problems.Parts `json:"parts,omitempty"`
}

// problemReaderMain is the main function of the process: it gets the name of the problem on in.
func problemReaderMain(in *os.File, out io.Writer) error {
	if err := confine.Self(confine.Limits{Memory: uint64(problems.ReaderMemory), FileSize: uint64(problems.MaxFile),
		CPU: problemReaderTime}); err != nil {
		return err
	}

	var name string
	if err := json.NewDecoder(in).Decode(&name); err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	confine.EndWith(in)
	p, err := problems.Read(name, os.NewFile(archiveFD, "archive"), os.NewFile(packageFD, "package"))
	if err != nil {
		return json.NewEncoder(out).Encode(problemReaderReply{Error: api.AsError(err)})
	}
	return json.NewEncoder(out).Encode(problemReaderReply{Parts: &p})
}

// problemReader returns the function that reads packages, in a process for each. A tar is unpacked into
// dir.
func problemReader(dir string) problems.Reader {
	return func(ctx context.Context, name string, archive, out *os.File) (problems.Parts, error) {
		ctx, cancel := context.WithTimeout(ctx, problemReaderWait)
		defer cancel()

		cmd, says := child.Command(ctx, problemReaderName, nil)
		cmd.ExtraFiles, cmd.WaitDelay = []*os.File{archive, out}, 5*time.Second
		cmd.Env = append(cmd.Env, "TMPDIR="+dir, "GOMAXPROCS=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			return problems.Parts{}, err
		}
		defer in.Close() // the process ends with it

		said, err := cmd.StdoutPipe()
		if err != nil {
			return problems.Parts{}, err
		}
		if err := cmd.Start(); err != nil {
			return problems.Parts{}, fmt.Errorf("start the process that reads the package: %w", err)
		}

		var reply problemReaderReply
		err = json.NewEncoder(in).Encode(name)
		if err == nil {
			err = json.NewDecoder(io.LimitReader(said, maxReaderReply)).Decode(&reply)
		}

		werr := cmd.Wait()
		switch {
		case err == nil && reply.Error != nil:
			return problems.Parts{}, reply.Error
		case err == nil && werr == nil && reply.Parts != nil:
			return *reply.Parts, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return problems.Parts{}, ctx.Err()
		}

		return problems.Parts{}, brokenReader(errors.Join(err, werr), says)
	}
}

const maxReaderReply = 1 << 20

// brokenReader is the error of a process that ended without a reply: a bound of its memory or time ended
// it.
func brokenReader(err error, says *child.Words) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return api.Refuse(api.CodeTooLarge,
			"reading the package takes more than %s of memory or %d s of processor time: make it smaller, or split it",
			problems.ReaderMemory, problemReaderTime)
	}
	return api.Fail(api.CodeInternal, "the process that reads the package: %w: %s", err, says)
}
