package drivers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/service/kernels"
)

// A driver is the driver of a kernel, executed on this host.
type driver struct {
	t        *testing.T
	cmd      *exec.Cmd
	requests *os.File
	said     chan kernels.Said // closed at its end
	cell     int64

	mu     sync.Mutex
	stdout bytes.Buffer // guarded by mu
	stderr bytes.Buffer // guarded by mu
}

var interpreters = map[api.KernelLanguage][2]string{
	api.KernelPython: {"python3", "python3"}, api.KernelJavaScript: {"node", "nodejs"}, api.KernelBash: {"bash", "bash"}}

func startDriver(t *testing.T, language api.KernelLanguage) *driver {
	t.Helper()
	testenv.NeedTool(t, interpreters[language][0], interpreters[language][1])
	in, requests, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	events, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	argv := Argv(language, t.TempDir())
	d := &driver{t: t, cmd: exec.Command(argv[0], argv[1:]...), requests: requests, said: make(chan kernels.Said, 100)}
	d.cmd.ExtraFiles = []*os.File{in, out}
	d.cmd.Stdout, d.cmd.Stderr = &locked{d, &d.stdout}, &locked{d, &d.stderr}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()

	var reading sync.WaitGroup
	reading.Go(func() { d.read(events) })
	t.Cleanup(func() {
		requests.Close()
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		_ = d.cmd.Wait()
		events.Close()
		reading.Wait()
	})
	if s := <-d.said; s.Kind != kernels.SaidReady {
		t.Fatalf("the driver did not start: %s", d.stderr.String())
	}
	return d
}

func (d *driver) read(events *os.File) {
	defer close(d.said)
	var frames kernels.Frames
	buf := make([]byte, 1<<16)
	for {
		n, err := events.Read(buf)
		if err != nil {
			return
		}
		err = frames.Write(buf[:n], func(body []byte) error {
			s, err := kernels.Understand(body)
			if err == nil {
				d.said <- s
			}
			return err
		})
		if err != nil {
			d.t.Errorf("the driver said what means nothing: %v", err)
			return
		}
	}
}

type locked struct {
	d *driver
	b *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.b.Write(p)
}

// send sends a cell.
func (d *driver) send(e kernels.Execute) {
	d.t.Helper()
	d.cell++
	e.Cell, e.Count = d.cell, int(d.cell)
	frame, err := e.Append(nil)
	if err == nil {
		_, err = d.requests.Write(frame)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// answer sends the answer to a call.
func (d *driver) answer(id string) {
	frame, err := kernels.AppendAnswer(nil, api.KernelAnswer{ID: id, Value: json.RawMessage("3")})
	if err == nil {
		_, err = d.requests.Write(frame)
	}
	if err != nil {
		d.t.Error(err)
	}
}

// finish waits for the end of the cell, and returns what was said in a line: each value as MIME type and data, each error
// by its name, and the status.
func (d *driver) finish() string {
	d.t.Helper()
	var line []string
	for s := range d.said {
		switch e := s.Event; {
		case s.Kind == kernels.SaidDone && s.Cell != d.cell:
			d.t.Errorf("the end of cell %d, and cell %d is executed", s.Cell, d.cell)
		case s.Kind == kernels.SaidDone:
			return strings.Join(append(line, string(s.Status)), " ")
		case e.Type == api.CellEventAsk:
			line = append(line, fmt.Sprintf("ask %s%s", e.Name, e.Args))
			d.answer(e.ID)
		case e.Type == api.CellEventError:
			line = append(line, e.Name+"("+e.Value+")")
		default:
			for mime, data := range e.Data {
				if mime != "text/plain" || len(e.Data) == 1 {
					line = append(line, mime+"="+string(data))
				}
			}
		}
	}
	return strings.Join(append(line, "died"), " ")
}

// wrote waits for what a cell writes, and returns all since the last call. It arrives after the events, because it has
// another pipe: the end of what an earlier cell wrote may be before it.
func (d *driver) wrote(want string) string {
	var got string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		d.mu.Lock()
		got = d.stdout.String()
		d.mu.Unlock()
		if strings.Contains(got, want) {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stdout.Reset()
	return got
}

// A row is a cell, what is said, and what it writes to stdout.
type row struct{ code, said, stdout string }

var cells = map[api.KernelLanguage][]row{
	api.KernelPython: {
		{"x = 20", "ok", ""},
		{"x + 1", `text/plain="21" ok`, ""},
		{"x;", "ok", ""},
		{"x # a comment", `text/plain="20" ok`, ""},
		{"x # a comment;", `text/plain="20" ok`, ""},
		{"", "ok", ""},
		{"None", "ok", ""},
		{"_", `text/plain="20" ok`, ""},
		{"print('a', 1, 'ö')", "ok", "a 1 ö\n"},
		{"1/0", "ZeroDivisionError(division by zero) error", ""},
		{"x = ", "SyntaxError(invalid syntax (<cell 11>, line 1)) error", ""},
		{"import asyncio\nawait asyncio.sleep(0)\n'done'", `text/plain="'done'" ok`, ""},
		{"async def f(): return 5\nawait f()", `text/plain="5" ok`, ""},
		{"!echo hi", "ok", "hi\n"},
		{"if x:\n    !echo \"it's\"", "ok", "it's\n"},
		{"y = !echo a; echo b\ny", `text/plain="['a', 'b']" ok`, ""},
		{"s = '''\n!ls\n%cd\n'''\nlen(s)", `text/plain="9" ok`, ""},
		{"%cd /\nimport os\nos.getcwd()", `text/plain="'/'" ok`, "/\n"},
		{"%matplotlib inline", "ok", ""},
		{"%time x", "NameError(%time does not exist here: there are %cd, %pwd and !COMMAND) error", ""},
		{"input()", "OSError(a kernel has no input: put the value into the code of the cell, or use ask) error", ""},
		{"raise SystemExit(3)", "SystemExit(3) error", ""},
		{"class A:\n  def _repr_html_(self): return '<b>'\nA()", `text/html="<b>" ok`, ""},
		{"class B:\n  def _repr_png_(self): return b'\\x89'\ndisplay(B())", `image/png="iQ==" ok`, ""},
		{"class C:\n  def _repr_mimebundle_(self, include, exclude): return {'a/b': [1]}\nC()", `a/b=[1] ok`, ""},
		{"class D:\n  def _repr_html_(self): raise NotImplementedError\n  def __repr__(self): return 'd'\nD()", `text/plain="d" ok`, ""},
		{"class E:\n  def __repr__(self): raise ValueError(1)\nE()", `ValueError(1) error`, ""},
		{"display({'a/b': 1}, raw=True)", `a/b=1 ok`, ""},
		{"display({'a/b': object()}, raw=True)",
			"ValueError(display: data and metadata must be what JSON can have: Object of type object is not JSON serializable) error", ""},
		{"display({'a/b': 'a' * (9 << 20)}, raw=True)", "ValueError(display: an event has at most 8 MiB: show less) error", ""},
		{"ask('add', 1, 2) + 1", `ask add[1, 2] text/plain="4" ok`, ""},
		{"import os\nif os.fork() == 0: 1\nos.wait()[1]", `text/plain="0" ok`, ""},
		{"'\\ud800'", `text/plain="'\\ud800'" ok`, ""},
		{"__name__", `text/plain="'__main__'" ok`, ""},
		{"\n    z = 5\n    if z:\n        z = 6\n\n    z\n    ", `text/plain="6" ok`, ""},
		{"  if z: z = 7\n  z;", "ok", ""},
		{"  z += 1\nz", `text/plain="8" ok`, ""},
		{"import pickle\npickle.loads(pickle.dumps(A())).__class__ is A", `text/plain="True" ok`, ""},
		{"os.close(1) or 5", `text/plain="5" ok`, ""},
		{"os._exit(1)", "died", ""},
	},
	api.KernelJavaScript: {
		{"let x = 20; const c = 1", "ok", ""},
		{"let x = 21; const c = 2; x + c", `text/plain="23" ok`, ""},
		{"class A {}", "ok", ""},
		{"class A { m() { return 1 } } new A().m()", `text/plain="1" ok`, ""},
		{"console.log('a', 1, 'ö')", "ok", "a 1 ö\n"},
		{"{ a: 1 }", `text/plain="{ a: 1 }" ok`, ""},
		{"undefined", "ok", ""},
		{"null", `text/plain="null" ok`, ""},
		{"10n", `text/plain="10n" ok`, ""},
		{"await new Promise(r => setTimeout(r, 1)); 'done'", `text/plain="'done'" ok`, ""},
		{"import fs, { existsSync as e } from 'fs'; import * as os from 'node:os'; [typeof fs.existsSync, e('/'), typeof os.cpus]",
			`text/plain="[ 'function', true, 'function' ]" ok`, ""},
		{"(await import('node:fs')).existsSync('/')", `text/plain="true" ok`, ""},
		{"'import(x)'", `text/plain="'import(x)'" ok`, ""},
		{"require('path').join('a', 'b')", `text/plain="'a/b'" ok`, ""},
		{"throw new TypeError('no')", "TypeError(no) error", ""},
		{"throw 5", "Error(5) error", ""},
		{"await Promise.reject(new Error('no'))", "Error(no) error", ""},
		{"x = ", "SyntaxError(Unexpected end of input) error", ""},
		{"x", `text/plain="21" ok`, ""},
		{"await ask('add', 1, 2) + 1", `ask add[1,2] text/plain="4" ok`, ""},
		{"display({ 'text/html': '<b>' }, { raw: true })", `text/html="<b>" ok`, ""},
		{"({ [Symbol.for('Jupyter.display')]() { return { 'text/html': '<i>' } } })", `text/html="<i>" ok`, ""},
		{"setTimeout(() => { throw new Error('late') }, 0); 1", `text/plain="1" ok`, ""},
		{"await new Promise(r => setTimeout(r, 10)); 2", `text/plain="2" ok`, ""},
		{"process.exit(1)", "died", ""},
	},
	api.KernelBash: {
		{"x=1; f() { echo f$1; }; declare -A m=([a]=b)", "ok", ""},
		{"f $x; echo ${m[a]}", "ok", "f1\nb\n"},
		{"cd /", "ok", ""},
		{"pwd", "ok", "/\n"},
		{"echo \"a\\\"b\" 'c\\n' ö $'\\x01'", "ok", "a\"b c\\n ö \x01\n"},
		{"false", "ExitStatus(1) error", ""},
		{"(exit 7)", "ExitStatus(7) error", ""},
		{"if", "ExitStatus(2) error", ""},
		{"break; echo no", "ok", ""},
		{"continue; echo no", "ok", ""},
		{"echo still", "ok", "still\n"},
		{"cat", "ok", ""},
		{"display \"hi\tthere\" 'q\"\\'", `text/plain="hi\tthere q\"\\" ok`, ""},
		{"printf abc > f; display -m image/png f", `image/png="YWJj" ok`, ""},
		{"exit 4", "died", ""},
	},
}

func TestCells(t *testing.T) {
	for language, rows := range cells {
		t.Run(string(language), func(t *testing.T) {
			d := startDriver(t, language)
			if language == api.KernelBash {
				d.send(kernels.Execute{Code: "cd " + t.TempDir()})
				d.finish()
			}
			for _, r := range rows {
				if language == api.KernelBash && strings.Contains(r.code, "> f") {
					d.send(kernels.Execute{Code: "cd " + t.TempDir()})
					d.finish()
				}
				d.send(kernels.Execute{Code: strings.ReplaceAll(r.code, "<cell 11>", "")})
				said := d.finish()
				if want := strings.ReplaceAll(r.said, "<cell 11>", fmt.Sprintf("<cell %d>", d.cell)); said != want {
					t.Errorf("%s\nsaid %s\nwant %s", r.code, said, want)
				}
				if got := d.wrote(r.stdout); got != r.stdout {
					t.Errorf("%s\nwrote %q\nwant  %q", r.code, got, r.stdout)
				}
			}
		})
	}
}

// A SIGINT ends whatever a cell does, and the variables stay.
func TestInterrupts(t *testing.T) {
	for language, test := range map[api.KernelLanguage]struct {
		first, check, want string
		endless            []string
	}{
		api.KernelPython: {"x = 1", "x", `text/plain="1" ok`, []string{
			"print('begun', flush=True)\nwhile True: pass",
			"import time\nprint('begun')\ntime.sleep(1000)",
			"!echo begun; sleep 1000",
			"import asyncio\nprint('begun')\nawait asyncio.sleep(1000)",
			"print('begun')\nwhile True: display(1)",
			"print('begun')\nwhile True: print(1)",
			"import threading\nprint('begun')\nthreading.Event().wait()",
		}},
		api.KernelJavaScript: {"let x = 1", "x", `text/plain="1" ok`, []string{
			"console.log('begun'); while (true) {}",
			"console.log('begun'); await new Promise(() => {})",
			"function f() { for (;;) {} } console.log('begun'); f()",
		}},
		api.KernelBash: {"x=1", `display $x`, `text/plain="1" ok`, []string{
			"echo begun; while :; do :; done; echo no",
			"echo begun; sleep 1000; echo no",
			"f() { while :; do sleep 0.01; done; }; g() { f; echo no; }; echo begun; g; echo no",
			"echo begun; ( while :; do :; done ); echo no",
			"echo begun; y=$(sleep 1000); echo no",
			"echo begun; sleep 1000 | cat; echo no",
		}},
	} {
		t.Run(string(language), func(t *testing.T) {
			d := startDriver(t, language)
			d.send(kernels.Execute{Code: test.first})
			d.finish()
			interrupt := func(code string) (said, wrote string) {
				d.send(kernels.Execute{Code: code})
				if wrote := d.wrote("begun"); !strings.Contains(wrote, "begun") {
					t.Fatalf("%s: wrote %q", code, wrote)
				}
				if language != api.KernelPython {
					time.Sleep(200 * time.Millisecond) // node can end by a SIGINT that comes when a cell begins to wait
				}
				if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT); err != nil {
					t.Fatal(err)
				}

				// One can come where it has no effect, as when Bash begins to wait: the service sends another, and kills then.
				ended := make(chan struct{})
				var others sync.WaitGroup
				others.Go(func() {
					for {
						select {
						case <-ended:
							return
						case <-time.After(2 * time.Second):
							_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT)
						}
					}
				})
				defer others.Wait()
				defer close(ended)
				return d.finish(), d.wrote("")
			}

			for _, code := range test.endless {
				said, wrote := interrupt(code)
				for try := 1; language == api.KernelBash && said == "ok" && try < 5; try++ {
					said, wrote = interrupt(code) // a SIGINT that comes while Bash begins to wait for a child ends that child alone
				}
				if !strings.HasSuffix(said, " interrupted") || strings.Contains(wrote, "no") {
					t.Errorf("%s: said %s, wrote %q after the interrupt", code, said, wrote)
				}

				d.send(kernels.Execute{Code: test.check})
				if said := d.finish(); said != test.want {
					t.Errorf("after %s: said %s, want %s", code, said, test.want)
				}
			}

			// One that comes while no cell is executed is no cell's.
			if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			d.send(kernels.Execute{Code: test.check})
			if said := d.finish(); said != test.want {
				t.Errorf("after a SIGINT between cells: said %s, want %s", said, test.want)
			}
		})
	}
}

func TestEnvironmentOfACell(t *testing.T) {
	env := map[string]string{"Q": "it's \"x\"\n\\ö"}
	for language, test := range map[api.KernelLanguage]struct{ before, code, with, after string }{
		api.KernelPython: {"import os; os.environ['R'] = 'r'", "os.environ.get('Q'), os.environ['R']",
			`text/plain="('it\\'s \"x\"\\n\\\\ö', 'r')" ok`, `text/plain="(None, 'r')" ok`},
		api.KernelJavaScript: {"process.env.R = 'r'; undefined", "[process.env.Q, process.env.R].join()",
			"text/plain=\"`it's \\\"x\\\"\\\\n\\\\\\\\ö,r`\" ok", `text/plain="',r'" ok`},
		api.KernelBash: {"export R=r", `display "$Q,$R"`, `text/plain="it's \"x\"\n\\ö,r" ok`, `text/plain=",r" ok`},
	} {
		t.Run(string(language), func(t *testing.T) {
			d := startDriver(t, language)
			for _, step := range []struct {
				env        map[string]string
				code, want string
			}{{nil, test.before, "ok"}, {env, test.code, test.with}, {nil, test.code, test.after}} {
				d.send(kernels.Execute{Code: step.code, Env: step.env})
				if said := decoded(d.finish()); said != decoded(step.want) {
					t.Errorf("%s with %v: said %s, want %s", step.code, step.env, said, step.want)
				}
			}
		})
	}
}

// decoded makes a text of drivers that escape all but ASCII comparable with others.
func decoded(text string) string { return strings.ReplaceAll(text, `\u00f6`, "ö") }
