package e2b

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/e2b/wire"
)

// userOf checks as whom a client wants to act. There is one user: root, of whom scripts are fond, is the same.
func userOf(r dialect.Request) (bad string) {
	encoded, basic := strings.CutPrefix(r.Header[headerUser], "Basic ")
	if !basic {
		return ""
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	name, _, _ := strings.Cut(string(text), ":")
	if err != nil || !isUser(name) {
		return fmt.Sprintf("there is no user %.80q: use user, or root, who is the same", name)
	}
	return ""
}

func isUser(name string) bool { return name == "" || name == "user" || name == "root" }

// absolute is a path as clients mean it: relative to their home.
func absolute(name string) string {
	switch {
	case name == "~":
		return home
	case strings.HasPrefix(name, "~/"):
		return path.Join(home, name[2:])
	case strings.HasPrefix(name, "/"):
		return path.Clean(name)
	}
	return path.Join(home, name)
}

// planStart starts a command. It lives until it ends, or its deadline has passed: not until its client leaves.
func planStart(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.StartRequest
	if err := readFrame(r.Body, &m); err != nil {
		return refuseStream("invalid_argument", err.Error())
	}
	if bad := userOf(r); bad != "" {
		return refuseStream("unauthenticated", bad)
	}

	ask := api.ProcessRequest{Argv: append([]string{m.GetProcess().GetCmd()}, m.GetProcess().GetArgs()...), Detach: true,
		Env: m.GetProcess().GetEnvs(), Tag: m.GetTag(), Stdin: api.ProcessStdinOpen}
	if m.Stdin != nil && !m.GetStdin() {
		ask.Stdin = api.ProcessStdinNone
	}
	if m.Pty != nil {
		ask.Stdin = ""
		ask.TTY = sizeOf(m.Pty)
	}
	if ms, err := strconv.ParseInt(r.Header[headerDeadline], 10, 62); err == nil && ms > 0 {
		ask.Limits.Wall = api.Duration(min(time.Duration(ms)*time.Millisecond, time.Duration(longestIdle)))
	}
	if m.GetProcess().GetCwd() == "" {
		return start(r, ask)
	}

	ask.Cwd = absolute(m.GetProcess().GetCwd())
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs", url.Values{"path": {ask.Cwd}, "follow": {"true"}})},
		Then: func(reply dialect.Reply) dialect.Plan {
			var s api.PathStatus
			parse(reply.Body, &s)
			switch p := reply.Problem; {
			case p != nil && gone(p):
				return dialect.Refuse(refusedBy(failStream)(p))
			case p != nil || s.Kind != api.Directory:
				return refuseStream("invalid_argument", fmt.Sprintf("cwd %q does not exist, or is no directory", ask.Cwd))
			}
			return start(r, ask)
		},
	}
}

func sizeOf(t *wire.Terminal) *api.TTY {
	return &api.TTY{Rows: int(min(t.GetSize().GetRows(), api.MaxTTY)), Cols: int(min(t.GetSize().GetCols(), api.MaxTTY))}
}

func start(r dialect.Request, ask api.ProcessRequest) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/processes", nil), Body: dialect.Encode(ask)},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return dialect.Refuse(refusedBy(failStream)(reply.Problem))
			}
			var p api.Process
			parse(reply.Body, &p)
			return follow(r, p, nil)
		},
	}
}

// follow sends what a process writes, and how it ends.
func follow(r dialect.Request, p api.Process, q url.Values) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/processes/"+strconv.Itoa(p.PID)+"/follow", q)},
		Stream: &dialect.Stream{
			Head: dialect.Response{Status: 200, Header: map[string]string{"Content-Type": streamType},
				Body: eventFrame(&wire.Event{Event: &wire.Event_Start_{Start: &wire.Event_Start{Pid: uint32(p.PID)}}})},
			Line:    func(line []byte) dialect.Piece { return tellEvent(line, p.TTY) },
			Refused: refusedBy(failStream),
		},
	}
}

func eventFrame(e *wire.Event) []byte { return frame(0, written(&wire.EventResponse{Event: e})) }

// tellEvent tells one event of a process.
func tellEvent(line []byte, terminal bool) (piece dialect.Piece) {
	var e api.ProcessEvent
	parse(line, &e)
	switch {
	case e.Output != nil:
		for _, one := range e.Output.Pieces {
			data := &wire.Event_Data{}
			switch {
			case terminal:
				data.Output = &wire.Event_Data_Pty{Pty: one.Data}
			case one.Stream == api.ProcessStderr:
				data.Output = &wire.Event_Data_Stderr{Stderr: one.Data}
			default:
				data.Output = &wire.Event_Data_Stdout{Stdout: one.Data}
			}
			piece.Out = append(piece.Out, eventFrame(&wire.Event{Event: &wire.Event_Data_{Data: data}})...)
		}
	case e.Process != nil:
		return tellEnd(*e.Process)
	default:
		piece.Out = eventFrame(&wire.Event{Event: &wire.Event_Keepalive{Keepalive: &wire.Event_KeepAlive{}}})
	}
	return piece
}

// tellEnd tells how a process ended. A client whose sandbox was killed meanwhile sees that by its connection alone.
func tellEnd(p api.Process) dialect.Piece {
	switch {
	case p.Result == nil && p.Error != nil && !gone(p.Error):
		return dialect.Piece{Out: endOf("internal", p.Error.Detail), Last: true}
	case p.Result == nil, p.Result.SessionEnded != "":
		return dialect.Piece{Broken: true}
	case p.Result.Verdict == api.WallLimit:
		return dialect.Piece{Out: endOf("deadline_exceeded", "the command has not ended in time, and was killed"), Last: true}
	}

	end := &wire.Event_End{ExitCode: int32(p.Result.ExitCode), Exited: true}
	end.Status = fmt.Sprintf("exit status %d", p.Result.ExitCode)
	if p.Result.Signal != 0 {
		end.ExitCode, end.Exited = -1, false
		end.Status = "signal: " + signalText(p.Result)
		end.Error = proto.String(end.Status)
	} else if p.Result.ExitCode != 0 {
		end.Error = proto.String(end.Status)
	}
	out := append(eventFrame(&wire.Event{Event: &wire.Event_End_{End: end}}), endOf("", "")...)
	return dialect.Piece{Out: out, Last: true, IfAlive: p.Result.Verdict == api.Canceled}
}

// signalText names a signal as Go does, whose words the original has.
func signalText(r *api.Result) string {
	names := map[int]string{1: "hangup", 2: "interrupt", 3: "quit", 6: "aborted", 9: "killed", 11: "segmentation fault",
		13: "broken pipe", 14: "alarm clock", 15: "terminated"}
	if name := names[r.Signal]; name != "" {
		return name
	}
	return strings.ToLower(r.SignalName)
}

// planAttach follows a process from now on.
func planAttach(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.ConnectRequest
	if err := readFrame(r.Body, &m); err != nil {
		return refuseStream("invalid_argument", err.Error())
	}
	return onProcess(r, m.Process, failStream, func(p api.Process) dialect.Plan {
		return follow(r, p, url.Values{"now": {"true"}})
	})
}

// onProcess finds the process that a client means.
func onProcess(r dialect.Request, which *wire.Which, how func(*api.Problem, dialect.Word) dialect.Response,
	then func(api.Process) dialect.Plan) dialect.Plan {
	refused := func(p *api.Problem) dialect.Plan { return dialect.Refuse(refusedBy(how)(p)) }
	if _, byTag := which.GetSelector().(*wire.Which_Tag); !byTag {
		return dialect.Plan{
			Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/processes/"+strconv.FormatUint(uint64(which.GetPid()), 10), nil)},
			Then: func(reply dialect.Reply) dialect.Plan {
				if reply.Problem != nil {
					return refused(reply.Problem)
				}
				var p api.Process
				parse(reply.Body, &p)
				return then(p)
			},
		}
	}
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/processes", nil)},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return refused(reply.Problem)
			}
			var all api.Page[api.Process]
			parse(reply.Body, &all)
			for _, p := range all.Items {
				if p.Tag == which.GetTag() && p.State == api.ProcessRunning {
					return then(p)
				}
			}
			return refused(&api.Problem{Code: api.CodeNotFound, Detail: fmt.Sprintf("no process with tag %q runs", which.GetTag())})
		},
	}
}

func planProcesses(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return unary(dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/processes", nil)}, func(reply dialect.Reply) proto.Message {
		var all api.Page[api.Process]
		parse(reply.Body, &all)
		list := &wire.ListResponse{}
		for _, p := range all.Items {
			if p.State != api.ProcessRunning || len(p.Argv) == 0 {
				continue
			}
			one := &wire.ListResponse_Process{Pid: uint32(p.PID), Config: &wire.Command{Cmd: p.Argv[0], Args: p.Argv[1:]}}
			if p.Cwd != "" {
				one.Config.Cwd = proto.String(p.Cwd)
			}
			if p.Tag != "" {
				one.Tag = proto.String(p.Tag)
			}
			list.Processes = append(list.Processes, one)
		}
		return list
	})
}

// unary plans one call, whose reply becomes a message.
func unary(c dialect.Call, tell func(dialect.Reply) proto.Message) dialect.Plan {
	return dialect.Plan{Call: &c, Then: func(reply dialect.Reply) dialect.Plan {
		if reply.Problem != nil {
			return dialect.Refuse(refusedBy(failUnary)(reply.Problem))
		}
		return message(tell(reply))
	}}
}

func message(m proto.Message) dialect.Plan {
	return dialect.Refuse(dialect.Response{Status: 200, Header: map[string]string{"Content-Type": unaryType}, Body: written(m)})
}

func empty(dialect.Reply) proto.Message { return &wire.Empty{} }

// toProcess plans what is sent to a process.
func toProcess(r dialect.Request, which *wire.Which, send func(pid string) dialect.Call) dialect.Plan {
	return onProcess(r, which, failUnary, func(p api.Process) dialect.Plan {
		if p.State != api.ProcessRunning {
			return refuseUnary("not_found", fmt.Sprintf("process %d has ended", p.PID))
		}
		return unary(send(strconv.Itoa(p.PID)), empty)
	})
}

func badMessage(err error) dialect.Plan { return refuseUnary("invalid_argument", err.Error()) }

func planInput(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.SendInputRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	data := m.GetInput().GetStdin()
	if typed := m.GetInput().GetPty(); typed != nil {
		data = typed
	}
	return toProcess(r, m.Process, func(pid string) dialect.Call {
		return dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/processes/"+pid+"/stdin", nil), Body: data,
			Type: "application/octet-stream"}
	})
}

func planCloseStdin(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.CloseStdinRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	return toProcess(r, m.Process, func(pid string) dialect.Call {
		return dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/processes/"+pid+"/stdin", url.Values{"eof": {"true"}}),
			Type: "application/octet-stream"}
	})
}

func planSignal(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.SendSignalRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	names := map[wire.Signal]api.Signal{wire.Signal_SIGNAL_SIGKILL: "SIGKILL", wire.Signal_SIGNAL_SIGTERM: "SIGTERM"}
	name, known := names[m.Signal]
	if !known {
		return refuseUnary("invalid_argument", "this signal cannot be sent: use SIGNAL_SIGTERM or SIGNAL_SIGKILL")
	}
	return toProcess(r, m.Process, func(pid string) dialect.Call {
		return dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/processes/"+pid+"/signal", nil),
			Body: dialect.Encode(api.SignalRequest{Signal: name})}
	})
}

func planResize(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.UpdateRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	return toProcess(r, m.Process, func(pid string) dialect.Call {
		return dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/processes/"+pid+"/resize", nil), Body: dialect.Encode(sizeOf(m.Pty))}
	})
}
