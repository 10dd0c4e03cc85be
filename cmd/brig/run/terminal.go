package run

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func (o *runOptions) registerTerminal(f *pflag.FlagSet) {
	f.BoolVarP(&o.tty, "tty", "t", false, "give the program a terminal: yours, with its size; what you type, Ctrl-C too, is the program's")
	f.BoolP("interactive", "i", false, "connect stdin: it is always connected; for those who write -it")
}

// checkTerminal refuses a terminal next to flags that have no use for one.
func (o *runOptions) checkTerminal() error {
	switch {
	case !o.tty:
		return nil
	case o.json:
		return fmt.Errorf("--tty and --json exclude each other: a terminal shows what the program writes")
	case o.testsDir != "" || o.suite.Report != "":
		return fmt.Errorf("--tty is not for tests: nobody types at their terminal")
	}
	return nil
}

// withTerminal calls do with the caller's terminal, if the program is to have it. The terminal is raw from the
// moment when the program has its slot: until then Ctrl-C ends brig.
func (o *runOptions) withTerminal(c *cli.CLI, screen *cli.Screen, events *client.Events,
	do func(stdin io.Reader, tty *api.TTY) (api.Result, error)) (res api.Result, err error) {
	if !o.tty {
		return do(c.Stdin, nil)
	}

	t, err := cli.OpenTerminal(c.Stdin, screen)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()

	var raw error
	events.Started = func() { raw = t.MakeRaw() }
	events.Resize = t.Sizes()
	size := t.Size()
	res, err = do(t, &size)
	return res, errors.Join(err, raw)
}
