package problems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/child"
	"github.com/brig-sandbox/brig/internal/confine"
)

// Command is the hidden command of brig that reads a package which a caller of brig serve has sent. Its main function
// is Main. A package may be made to take all memory and time of what reads it (GRD-17).
const Command = "problem-reader"

// The bounds of the process that reads.
const (
	readerTime = 60 // seconds of processor time
	readerWait = 2 * time.Minute

	archiveFD, packageFD = 3, 4 // its descriptors: what it reads and what it writes
)

// readerReply is what the process says at its end.
type readerReply struct {
	Error *api.Error `json:"error,omitempty"`
	Parts *Parts     `json:"parts,omitempty"`
}

// Main is the main function of the process: it gets the name of the problem on in, and its parts go to out. Descriptor
// 3 is the archive, and 4 the file that Read writes. It bounds this process for good. A mistake of the package is no
// error of Main: it is in what goes to out.
func Main(in *os.File, out io.Writer) error {
	if err := confine.Self(confine.Limits{Memory: uint64(ReaderMemory), FileSize: uint64(MaxFile),
		CPU: readerTime}); err != nil {
		return err
	}

	var name string
	if err := json.NewDecoder(in).Decode(&name); err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	confine.EndWith(in)
	p, err := Read(name, os.NewFile(archiveFD, "archive"), os.NewFile(packageFD, "package"))
	if err != nil {
		return json.NewEncoder(out).Encode(readerReply{Error: api.AsError(err)})
	}
	return json.NewEncoder(out).Encode(readerReply{Parts: &p})
}

// Confined returns a Reader that reads each package in a process of its own. A tar is unpacked into dir.
func Confined(dir string) Reader {
	return func(ctx context.Context, name string, archive, out *os.File) (Parts, error) {
		ctx, cancel := context.WithTimeout(ctx, readerWait)
		defer cancel()

		cmd, says := child.Command(ctx, Command, nil)
		cmd.ExtraFiles, cmd.WaitDelay = []*os.File{archive, out}, 5*time.Second
		cmd.Env = append(cmd.Env, "TMPDIR="+dir, "GOMAXPROCS=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			return Parts{}, err
		}
		defer in.Close() // the process ends with it

		said, err := cmd.StdoutPipe()
		if err != nil {
			return Parts{}, err
		}
		if err := cmd.Start(); err != nil {
			return Parts{}, fmt.Errorf("start the process that reads the package: %w", err)
		}

		var reply readerReply
		err = json.NewEncoder(in).Encode(name)
		if err == nil {
			err = json.NewDecoder(io.LimitReader(said, maxReaderReply)).Decode(&reply)
		}

		werr := cmd.Wait()
		switch {
		case err == nil && reply.Error != nil:
			return Parts{}, reply.Error
		case err == nil && werr == nil && reply.Parts != nil:
			return *reply.Parts, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return Parts{}, ctx.Err()
		}

		return Parts{}, brokenReader(errors.Join(err, werr), says)
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
			ReaderMemory, readerTime)
	}
	return api.Fail(api.CodeInternal, "the process that reads the package: %w: %s", err, says)
}
