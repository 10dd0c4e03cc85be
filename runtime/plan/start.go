package plan

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// The most that the message which starts a program holds: its directory, arguments and environment.
const (
	MaxStartWords = 8192
	MaxStartBytes = 160 * int(api.KiB) // with the NUL of each word
)

// checkStart refuses a program that no start message can hold. A request has bounds of its own
// (api.MaxArgBytes), but the parts come from several: an image, a language, a session, an exec, a test,
// and the names of files that a compiler reads. args are those of a test (IMG-55).
func (p *Run) checkStart(args []string) error {
	words, size := 1, len(p.Dir)+1
	for _, list := range [][]string{p.Argv, args, p.Env} {
		for _, w := range list {
			words, size = words+1, size+len(w)+1
		}
	}
	if words > MaxStartWords || size > MaxStartBytes {
		return api.Refuse(api.CodeTooLarge,
			"arguments and environment have %d words and %s, together with those of the image, the language, the "+
				"session and the test: the maximum is %d and %s; pass large data as a file or on stdin", words, api.Size(size), MaxStartWords, api.Size(MaxStartBytes))
	}
	return nil
}

// checkStarts refuses a job if what judges a test, with the arguments of the test and the names of files and
// pipes, or a process with the names of its pipes, is such a program.
func (j *Job) checkStarts() error {
	for _, t := range j.Request.Tests {
		if j.Interactor != nil {
			if err := j.Process(j.Run, api.MaxProcesses).checkStart(t.Args); err != nil {
				return err
			}
			if err := j.Interact(t, j.Run, nil, nil).checkStart(nil); err != nil {
				return ofTest(t, "interactor", err)
			}
		}

		if j.Checker != nil {
			if err := j.Check(t, nil, nil, nil, nil).checkStart(nil); err != nil {
				return ofTest(t, "check", err)
			}
		}
	}

	return nil
}

func ofTest(t api.Test, part string, err error) error {
	return api.About(fmt.Sprintf("test %q: %s", t.ID, part), err)
}
