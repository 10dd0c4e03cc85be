package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func kernelExec(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session kernel exec", `
Execute a cell in a kernel: code, or a FILE; - is standard input. What it writes appears as it
comes, then the value of its last expression. Pictures are written to --out. Ctrl-C
interrupts the cell. The exit code is 0 if the cell ended well, 124 after --timeout, 130 if it
was interrupted, and 1 otherwise.

`+serviceText+`

Usage:
  brig session kernel exec [flags] ID KERNEL FILE
  brig session kernel exec [flags] -c CODE ID KERNEL

Examples:
  brig session kernel exec -c 'x = 20' $id $k
  echo 'print(x)' | brig session kernel exec $id $k -
  brig session kernel exec --timeout 10s --out pictures $id $k plot.py`)
	var cell api.Cell
	var env []string
	code := f.StringP("code", "c", "", "execute this `CODE`")
	f.Var(&cell.Timeout, "timeout", "interrupt the cell after this time")
	f.Lookup("timeout").DefValue = ""
	f.StringArrayVarP(&env, "env", "e", nil, "set a variable of this cell alone: `K=V` (repeatable)")
	f.BoolVar(&cell.Silent, "silent", false, "show no value, and do not count the cell")
	out := f.String("out", "", "write pictures to this `DIR`, as CELL-NUMBER.png and so on; it is made if missing")
	asJSON := f.Bool("json", false, "print the events as lines of JSON instead")
	base := urlFlag(f)
	return c.Does(k, func() int {
		given, words := f.Changed("code"), f.NArg()
		var err error
		switch {
		case given && words != 2:
			err = errors.New("with -c, session kernel exec needs the ID of a session and that of a kernel")
		case !given && words != 3:
			err = errors.New("session kernel exec needs the ID of a session, that of a kernel and a FILE, or -c CODE")
		case given:
			cell.Code = *code
		default:
			var text []byte
			text, err = readCell(c, f.Arg(2))
			cell.Code = string(text)
		}
		if err == nil {
			cell.Env, err = variables(env)
		}
		if err == nil {
			err = cell.Validate()
		}
		if err != nil {
			return c.Hint("session kernel exec", err)
		}

		exit := 0
		failed := withServiceFor(c, "session kernel exec", *base, attachTimeout, func(ctx context.Context, s serviceHandle) error {
			show := &cellPrinter{CLI: c, pictures: *out, json: *asJSON, answer: func(a api.KernelAnswer) error {
				return s.AnswerCall(ctx, f.Arg(0), f.Arg(1), a)
			}}
			end, err := s.ExecuteCell(ctx, f.Arg(0), f.Arg(1), cell, show.event)
			if err != nil && ctx.Err() != nil { // Ctrl-C: the service interrupts a cell whose client leaves
				exit = exitOfCell(api.CellInterrupted)
				return nil
			}
			exit = exitOfCell(end.Status)
			return err
		})
		if failed != 0 {
			return failed
		}
		return exit
	})
}

// readCell reads the code of a cell: a file, or standard input. Cell.Validate refuses one that is too long.
func readCell(c *cli.CLI, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(c.Stdin, int64(api.MaxCell)+1))
	}
	return cli.ReadFile(name)
}

// exitOfCell is the exit code that says how a cell ended. Those that brig run has, too, mean the same there.
func exitOfCell(s api.CellStatus) int {
	switch s {
	case api.CellOK:
		return 0
	case api.CellTimeout:
		return 124
	case api.CellInterrupted:
		return 130
	}
	return 1
}

// A cellPrinter shows the events of a cell.
type cellPrinter struct {
	*cli.CLI
	pictures string // where pictures are written; empty: nowhere
	json     bool
	answer   func(api.KernelAnswer) error

	count   int // of the cell
	written int // pictures
}

// event shows one event.
func (p *cellPrinter) event(e api.CellEvent) error {
	if e.Type == api.CellEventAsk { // the command has no tools, and the program is not to wait for them
		if err := p.answer(api.KernelAnswer{ID: e.ID, Error: "brig session kernel exec answers no calls: use a client with tools"}); err != nil {
			return err
		}
	}
	if p.json {
		if e.Type == api.CellEventKeepAlive {
			return nil
		}
		line, err := json.Marshal(e)
		if err == nil {
			_, err = p.Stdout.Write(append(line, '\n'))
		}
		return err
	}

	var err error
	switch e.Type {
	case api.CellEventStart:
		p.count = e.Count
		if e.Restarted {
			p.Note("the interpreter is a fresh one: the variables of earlier cells are lost")
		}
	case api.CellEventStdout:
		_, err = fmt.Fprint(p.Stdout, e.Text)
	case api.CellEventStderr:
		_, err = fmt.Fprint(p.Stderr, e.Text)
	case api.CellEventDisplay, api.CellEventResult:
		err = p.value(e.Data)
	case api.CellEventError:
		p.mistake(e)
	case api.CellEventEnd:
		if e.Status != api.CellOK && e.Status != api.CellError {
			p.Note("the cell ended: %s", e.Status)
		}
		if e.Restarted {
			p.Note("the interpreter has ended, and its variables are lost")
		}
	case api.CellEventAsk, api.CellEventKeepAlive:
	}
	return err
}

// mistake shows the error of a cell as its interpreter would.
func (p *cellPrinter) mistake(e api.CellEvent) {
	for _, line := range e.Traceback {
		fmt.Fprintln(p.Stderr, line)
	}
	if len(e.Traceback) == 0 {
		fmt.Fprintf(p.Stderr, "%s: %s\n", e.Name, e.Value)
	}
}

// pictures are the forms that are written to files, the best first, with the ends of their names.
var pictures = []struct{ mime, end string }{
	{"image/png", "png"}, {"image/svg+xml", "svg"}, {"image/jpeg", "jpg"}, {"image/gif", "gif"}, {"image/webp", "webp"},
	{"application/pdf", "pdf"},
}

// value shows a value in the best form that a terminal has: a picture in a file, or text.
func (p *cellPrinter) value(data map[string]json.RawMessage) error {
	for _, form := range pictures {
		if content, ok := data[form.mime]; ok && p.pictures != "" {
			return p.picture(form.mime, form.end, content)
		}
	}

	text, isText := textOf(data["text/plain"])
	forms := make([]string, 0, len(data))
	for mime := range data {
		forms = append(forms, mime)
	}
	slices.Sort(forms)
	if !isText && len(forms) > 0 {
		p.Note("a value has the forms %.200q: --json shows them", forms)
		return nil
	}
	if slices.ContainsFunc(pictures, func(f struct{ mime, end string }) bool { return data[f.mime] != nil }) {
		p.Note("a picture was not written: --out DIR writes it")
	}
	_, err := fmt.Fprintln(p.Stdout, text)
	return err
}

// textOf is a form that is text.
func textOf(form json.RawMessage) (text string, ok bool) {
	return text, form != nil && json.Unmarshal(form, &text) == nil
}

// picture writes a picture. What it contains is the program's, and the name is the command's (TestCellsAreShown).
func (p *cellPrinter) picture(mime, end string, content json.RawMessage) error {
	image, err := imageOf(mime, content)
	if err != nil {
		p.Note("a picture is damaged: %v", err)
		return nil
	}
	p.written++
	name := filepath.Join(p.pictures, fmt.Sprintf("%d-%d.%s", p.count, p.written, end))
	if err := writePicture(name, image); err != nil {
		return err
	}
	p.Note("wrote %s", name)
	return nil
}
