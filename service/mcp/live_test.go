package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// A fakeLive is a fakeRunner with one process, whose output is its input, and with kernels whose cells tell the events in
// their code.
type fakeLive struct {
	fakeRunner

	started api.ProcessRequest
	process api.Process
	output  string

	kernels  []api.Kernel
	race     bool            // another call starts a kernel first
	events   []api.CellEvent // of each cell, instead of those in its code
	told     []string
	answered []api.KernelAnswer
}

func (f *fakeLive) StartProcess(_ context.Context, _ string, p api.ProcessRequest) (api.Process, error) {
	f.started = p
	f.process = api.Process{PID: 1, Argv: p.Argv, Tag: p.Tag, State: api.ProcessRunning}
	return f.process, nil
}

func (f *fakeLive) Processes(context.Context, string) (all []api.Process, err error) {
	if f.process.PID > 0 {
		all = append(all, f.process)
	}
	return all, nil
}

func (f *fakeLive) Process(context.Context, string, int) (api.Process, error) { return f.process, nil }

func (f *fakeLive) Output(_ context.Context, _ string, pid int, since int64, wait string) (api.ProcessOutput, error) {
	if pid != 1 {
		return api.ProcessOutput{}, api.Refuse(api.CodeNotFound, "there is no process %d", pid)
	}
	f.told = append(f.told, "wait "+wait)
	out := api.ProcessOutput{Offset: since, Next: int64(len(f.output)), Ended: f.process.State == api.ProcessEnded}
	if rest := f.output[since:]; rest != "" {
		out.Pieces = []api.ProcessPiece{{Stream: api.ProcessStdout, Data: api.Bytes(rest)}}
	}
	return out, nil
}

func (f *fakeLive) SendStdin(_ context.Context, _ string, _ int, b []byte, eof bool) error {
	if f.output += string(b); eof {
		f.process.State, f.process.Result = api.ProcessEnded, &api.Result{Verdict: api.Nonzero, ExitCode: 3}
	}
	return nil
}

func (f *fakeLive) SendSignal(_ context.Context, _ string, _ int, s api.Signal) error {
	f.told = append(f.told, string(s))
	return s.Validate()
}

func (f *fakeLive) StartKernel(_ context.Context, _ string, ask api.KernelRequest) (api.Kernel, error) {
	k := api.Kernel{ID: fmt.Sprint("k", len(f.kernels)+1), Language: ask.Language, Tag: ask.Tag, State: api.KernelIdle}
	f.kernels = append(f.kernels, k)
	if f.race {
		return api.Kernel{}, api.Refuse(api.CodeConflict, "there is one of this tag")
	}
	return k, nil
}

func (f *fakeLive) Kernels(context.Context, string) ([]api.Kernel, error) { return f.kernels, nil }

func (f *fakeLive) InterruptKernel(_ context.Context, _, kernel string) error {
	f.told = append(f.told, "interrupt "+kernel)
	return nil
}

func (f *fakeLive) RestartKernel(_ context.Context, _, kernel string) (api.Kernel, error) {
	return api.Kernel{ID: kernel, Language: api.KernelPython, State: api.KernelIdle}, nil
}

func (f *fakeLive) DeleteKernel(_ context.Context, _, kernel string) error {
	f.told = append(f.told, "end "+kernel)
	return nil
}

func (f *fakeLive) ExecuteCell(_ context.Context, _, kernel string, c api.Cell, handle func(api.CellEvent) error) (api.CellEvent, error) {
	f.told = append(f.told, kernel+" "+c.Timeout.String())
	all := f.events
	if all == nil {
		if err := json.Unmarshal([]byte(c.Code), &all); err != nil {
			return api.CellEvent{}, err
		}
	}
	for _, e := range all {
		if err := handle(e); err != nil {
			return e, err
		}
	}
	return all[len(all)-1], nil
}

func (f *fakeLive) AnswerCall(_ context.Context, _, _ string, a api.KernelAnswer) error {
	f.answered = append(f.answered, a)
	return nil
}

// code is the code of a cell that tells events, and ends well.
func code(events ...api.CellEvent) string {
	text, err := json.Marshal(append(events, api.CellEvent{Type: api.CellEventEnd, Status: api.CellOK}))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func forms(all map[string]any) map[string]json.RawMessage {
	data := map[string]json.RawMessage{}
	for mime, v := range all {
		data[mime], _ = json.Marshal(v)
	}
	return data
}

func TestToolsOfProcesses(t *testing.T) {
	f := &fakeLive{}
	c := inMemory(t, f)
	for _, tt := range []struct {
		tool   string
		args   args
		says   string
		failed bool
	}{
		{"list_processes", args{"session_id": "s1"}, "there are no processes\n", false},
		{"start_process", args{"session_id": "s1", "command": "cat", "timeout_seconds": -1}, "brig: bad-limits: ", true},
		{"start_process", args{"session_id": "s1", "command": "cat", "cwd": "-"}, "brig: bad-request: cwd", true},
		{"start_process", args{"session_id": "s1", "command": "cat -u", "tag": "copy"},
			"process_id: 1, running, 0 bytes written, tag \"copy\": \"sh -c cat -u\"\n", false},
		{"list_processes", args{"session_id": "s1"}, "process_id: 1, running", false},
		{"read_output", args{"session_id": "s1", "process_id": 1}, "[no output yet]\n[running; next_offset 0]\n", false},
		{"send_input", args{"session_id": "s1", "process_id": 1, "input": "one\n"}, "process 1 got 4 bytes\n", false},
		{"read_output", args{"session_id": "s1", "process_id": 1, "wait_seconds": 60}, "one\n[running; next_offset 4]\n", false},
		{"send_input", args{"session_id": "s1", "process_id": 1, "input": args{"base64": "/wA="}, "end": true},
			"2 bytes, and its stdin has ended", false},
		{"read_output", args{"session_id": "s1", "process_id": 1, "offset": 4},
			"\uFFFD\x00\n[ended, nonzero (exit code 3); next_offset 6]\n", false},
		{"read_output", args{"session_id": "s1", "process_id": 1, "offset": -4}, "brig: bad-request: offset is -4", true},
		{"read_output", args{"session_id": "s1", "process_id": 1, "wait_seconds": 61}, "brig: bad-request: wait_seconds is 61", true},
		{"read_output", args{"session_id": "s1", "process_id": 2}, "brig: not-found: there is no process 2", true},
		{"send_signal", args{"session_id": "s1", "process_id": 1}, "SIGTERM was sent to process 1", false},
		{"send_signal", args{"session_id": "s1", "process_id": 1, "signal": "SIGSEGV"}, "brig: bad-request: ", true},
		{"list_processes", args{"session_id": "s1"}, "process_id: 1, ended, nonzero (exit code 3)", false},
	} {
		text, failed := use(t, c, tt.tool, tt.args, nil)
		if failed != tt.failed || !strings.Contains(text, tt.says) {
			t.Errorf("%s %v: failed: %v, %q\nwant %q", tt.tool, tt.args, failed, text, tt.says)
		}
	}

	if p := f.started; !p.Detach || p.Stdin != api.ProcessStdinOpen || p.TTY != nil {
		t.Errorf("started %+v", p)
	}
	if got := strings.Join(f.told, ", "); got != "wait , wait 1m0s, wait , SIGTERM, SIGSEGV" {
		t.Errorf("told %s", got)
	}
}

// All that a process writes is told once, whatever the parts are, and no character is cut.
func TestPartsOfOutput(t *testing.T) {
	whole := strings.Repeat("€", 3*readMax/3) + "end"
	for _, tt := range []struct {
		name   string
		pieces []api.ProcessPiece
		ended  bool
		stdout string
		stderr string
	}{
		{"nothing", nil, false, "", ""},
		{"both streams", []api.ProcessPiece{{Stream: "stdout", Data: api.Bytes("a")}, {Stream: "stderr", Data: api.Bytes("b")},
			{Stream: "stdout", Data: api.Bytes("c")}}, false, "ac", "b"},
		{"a long one", []api.ProcessPiece{{Stream: "stdout", Data: api.Bytes(whole)}}, true, whole, ""},
		{"half a character of one stream", []api.ProcessPiece{{Stream: "stderr", Data: api.Bytes("\xe2")},
			{Stream: "stdout", Data: api.Bytes("x\xe2")}}, false, "x", "\uFFFD"},
		{"half a character at the end", []api.ProcessPiece{{Stream: "stdout", Data: api.Bytes("x\xe2")}}, true, "x\uFFFD", ""},
		{"half a character alone", []api.ProcessPiece{{Stream: "stdout", Data: api.Bytes("\xe2")}}, false, "\uFFFD", ""},
	} {
		var stdout, stderr strings.Builder
		size := int64(0)
		for _, p := range tt.pieces {
			size += int64(len(p.Data))
		}
		for offset, last := int64(0), int64(-1); offset < size && offset != last; {
			out := api.ProcessOutput{Offset: offset, Next: size, Ended: tt.ended, Pieces: after(tt.pieces, offset)}
			part := tellOutput(out, api.Process{State: api.ProcessEnded, Result: &api.Result{Verdict: api.OK}})
			if len(part.merged) > readMax+3 {
				t.Fatalf("%s: a part of %d bytes", tt.name, len(part.merged))
			}
			if ended := part.State == "ended"; ended != (tt.ended && part.Next == size) || ended != (part.ProcessEnd != nil) {
				t.Fatalf("%s: at %d of %d: %+v", tt.name, part.Next, size, part)
			}
			stdout.WriteString(part.Stdout)
			stderr.WriteString(part.Stderr)
			if part.Next == size-1 && !tt.ended { // the rest of the character has not come yet
				break
			}
			last, offset = offset, part.Next
		}
		if stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%s: stdout of %d bytes, want %d, and stderr %q", tt.name, stdout.Len(), len(tt.stdout), stderr.String())
		}
	}
}

// after are the pieces without the bytes before an offset.
func after(pieces []api.ProcessPiece, offset int64) (rest []api.ProcessPiece) {
	for _, p := range pieces {
		skip := min(offset, int64(len(p.Data)))
		offset -= skip
		if p.Data = p.Data[skip:]; len(p.Data) > 0 {
			rest = append(rest, p)
		}
	}
	return rest
}

func TestToolsOfKernels(t *testing.T) {
	f := &fakeLive{}
	c := inMemory(t, f)
	hello := code(api.CellEvent{Type: api.CellEventStart, Count: 2, Restarted: true},
		api.CellEvent{Type: api.CellEventStdout, Text: "hello\n"},
		api.CellEvent{Type: api.CellEventResult, Data: forms(args{"text/plain": "42", "text/html": "<b>42</b>"})})
	for _, tt := range []struct {
		tool   string
		args   args
		says   string
		failed bool
	}{
		{"list_kernels", args{"session_id": "s1"}, "there are no kernels\n", false},
		{"run_cell", args{"session_id": "s1", "code": "x", "language": "ruby"}, "brig: bad-request: language", true},
		{"run_cell", args{"session_id": "s1", "code": "x", "language": "python", "kernel_id": "k1"}, "leave language out", true},
		{"run_cell", args{"session_id": "s1", "code": "x", "timeout_seconds": -1}, "brig: bad-limits: timeout_seconds", true},
		{"run_cell", args{"session_id": "s1", "code": hello},
			"status: ok, kernel_id: k1\nthe interpreter was a fresh one: variables of earlier cells were lost\nstdout:\nhello\nresult:\n42\n", false},
		{"run_cell", args{"session_id": "s1", "code": hello, "timeout_seconds": 2}, "kernel_id: k1", false},
		{"run_cell", args{"session_id": "s1", "code": hello, "language": "bash"}, "kernel_id: k2", false},
		{"start_kernel", args{"session_id": "s1", "language": "python"}, "kernel_id: k3, python, idle, 0 cells", false},
		{"run_cell", args{"session_id": "s1", "code": hello, "kernel_id": "k3"}, "kernel_id: k3", false},
		{"list_kernels", args{"session_id": "s1"}, "kernel_id: k2, bash", false},
		{"interrupt_kernel", args{"session_id": "s1", "kernel_id": "k3"}, "is interrupted", false},
		{"restart_kernel", args{"session_id": "s1", "kernel_id": "k3"}, "kernel_id: k3, python, idle", false},
		{"end_kernel", args{"session_id": "s1", "kernel_id": "k3"}, "the kernel k3 has ended", false},
	} {
		text, failed := use(t, c, tt.tool, tt.args, nil)
		if failed != tt.failed || !strings.Contains(text, tt.says) {
			t.Errorf("%s %v: failed: %v, %q\nwant %q", tt.tool, tt.args, failed, text, tt.says)
		}
	}
	if got := strings.Join(f.told, ", "); got != "k1 1m0s, k1 2s, k2 1m0s, k3 1m0s, interrupt k3, end k3" {
		t.Errorf("told %s", got)
	}
}

// Two calls at once that need a kernel begin one.
func TestCallsThatStartOneKernel(t *testing.T) {
	f := &fakeLive{race: true}
	text, failed := use(t, inMemory(t, f), "run_cell", args{"session_id": "s1", "code": code()}, nil)
	if failed || len(f.kernels) != 1 || f.kernels[0].Tag != "mcp-python" || !strings.Contains(text, "kernel_id: k1") {
		t.Errorf("failed: %v, %s; %+v", failed, text, f.kernels)
	}
}

// Pictures follow the text, and what does not fit is told of.
func TestPicturesOfCells(t *testing.T) {
	display := func(data args) api.CellEvent { return api.CellEvent{Type: api.CellEventDisplay, Data: forms(data)} }
	f := &fakeLive{events: []api.CellEvent{
		display(args{"image/png": "AAEC\nAw==", "text/plain": "<Figure>"}),
		display(args{"image/png": strings.Repeat("A", allPicturesMax/3*4+4)}),
		display(args{"image/jpeg": "no base64!"}), display(args{"image/jpeg": 7}),
		display(args{"image/jpeg": "AA=="}), display(args{"image/gif": "AA=="}), display(args{"image/webp": "AA=="}),
		display(args{"image/png": "AA=="}),
		display(args{"application/json": args{"a": 1}}), display(args{"application/x": "?"}),
		display(args{"text/plain": strings.Repeat("x", allValuesMax)}),
		{Type: api.CellEventEnd, Status: api.CellOK}}}
	res, err := inMemory(t, f).CallTool(t.Context(), &sdk.CallToolParams{Name: "run_cell", Arguments: args{"session_id": "s1", "code": ""}})
	if err != nil || res.IsError {
		t.Fatalf("%v, %.200v", err, res.Content[0])
	}

	text := res.Content[0].(*sdk.TextContent).Text
	for _, want := range []string{"display:\n<Figure>\n[display: picture 1]\n", "[display: a picture is left out: an answer has at most 4",
		"[display: a picture is left out: it is no text in base64]\n", "picture 4]\n", `{"a":1}`,
		`a value with the forms ["application/x"]`, "xxx\n[20480 bytes left out]\nxxx"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if n := len(res.Content); n != 1+maxPictures {
		t.Fatalf("%d contents", n)
	}
	if p := res.Content[1].(*sdk.ImageContent); p.MIMEType != "image/png" || string(p.Data) != "\x00\x01\x02\x03" {
		t.Errorf("%+v", p)
	}
}

// However much a cell tells, its answer is bounded, and has the beginning and the end of what it wrote.
func TestCellsWithMuchToTell(t *testing.T) {
	const events = 200
	var n cellNotes
	values := forms(args{"text/plain": strings.Repeat("v", 9000), strings.Repeat("m", 9000): 1, "image/png": strings.Repeat("A", 500_000)})
	for i := range events {
		n.add(api.CellEvent{Type: api.CellEventStdout, Text: strings.Repeat("€", 150) + fmt.Sprint(i)})
		n.add(api.CellEvent{Type: api.CellEventResult, Data: values})
		n.add(api.CellEvent{Type: api.CellEventError, Name: strings.Repeat("n", 9000), Value: strings.Repeat("w", 90_000),
			Traceback: []string{strings.Repeat("t", 90_000)}})
	}
	o := n.outcome("k1", api.CellEvent{Type: api.CellEventEnd, Status: api.CellDied, Restarted: true})
	whole, err := json.Marshal(o)
	if err != nil || len(whole) > 150<<10 || len(o.text()) > 150<<10 {
		t.Errorf("%v, %d bytes, %d of text", err, len(whole), len(o.text()))
	}
	shown := int64(len(o.Stdout) - len(gap(o.StdoutLeftOut)))
	if n.stdout.written != shown+o.StdoutLeftOut || !strings.HasSuffix(o.Stdout, "€199") || strings.ContainsRune(o.Stdout, '\uFFFD') ||
		o.ValuesLeftOut != events-maxValues || n.pictureBytes > allPicturesMax || !o.Lost {
		t.Errorf("%d bytes written, %d shown, %d left out; %d values and %d bytes of pictures", n.stdout.written, shown, o.StdoutLeftOut,
			len(o.Values), n.pictureBytes)
	}
}

// A cell that calls a tool gets an answer that there is none, instead of waiting until its time is over.
func TestCellsThatCallTools(t *testing.T) {
	f := &fakeLive{}
	cell := code(api.CellEvent{Type: api.CellEventAsk, ID: "7", Name: "add"})
	use(t, inMemory(t, f), "run_cell", args{"session_id": "s1", "code": cell}, nil)
	if len(f.answered) != 1 || f.answered[0].ID != "7" || !strings.Contains(f.answered[0].Error, `no tool "add"`) {
		t.Errorf("%+v", f.answered)
	}
}

// Where there are no processes and kernels, there are no tools for them.
func TestToolsOfAnAgent(t *testing.T) {
	names := func(r Runner) map[string]bool {
		c := inMemory(t, r)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{"instructions": strings.Contains(c.InitializeResult().Instructions, "run_cell")}
		for _, one := range list.Tools {
			all[one.Name] = true
		}
		return all
	}
	agent, service := names(&fakeRunner{}), names(&fakeLive{})
	for _, name := range []string{"instructions", "start_process", "run_cell"} {
		if agent[name] || !service[name] {
			t.Errorf("%s: of an agent %v, of a service %v", name, agent[name], service[name])
		}
	}
}

func TestEndsOfProcesses(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    api.Process
		want string
	}{
		{"running", api.Process{State: api.ProcessRunning}, "running"},
		{"a signal", api.Process{State: api.ProcessEnded, Result: &api.Result{Verdict: api.Signaled, ExitCode: -1, SignalName: "SIGTERM"}},
			"ended, signaled (SIGTERM)"},
		{"no result", api.Process{State: api.ProcessEnded, Error: &api.Problem{Code: api.CodeInternal, Detail: "x"}}, "ended, internal: x"},
		{"neither", api.Process{State: api.ProcessEnded}, "ended, unknown"},
	} {
		if got := endOf(tt.p).text(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if _, err := planOutput(ReadOutput{Wait: 1e-12}); err != nil {
		t.Error(errors.Unwrap(err))
	}
}
