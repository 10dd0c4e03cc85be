package jupytersocket

import (
	"encoding/json"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Protocol is the version of Jupyter's messages that is spoken.
const Protocol = "5.3"

// Values of a content.
type values map[string]any

// An Execute is the content of an execute_request, as far as it means something here.
type Execute struct {
	Code        string `json:"code"`
	Silent      bool   `json:"silent"`
	StopOnError *bool  `json:"stop_on_error"` // nil: true
}

// ReadExecute reads the content of an execute_request.
func ReadExecute(content json.RawMessage) (e Execute, err error) {
	err = json.Unmarshal(content, &e)
	return e, err
}

// StopsOthers reports whether cells that wait behind this one are not executed if it fails.
func (e Execute) StopsOthers() bool { return e.StopOnError == nil || *e.StopOnError }

// Status is the content of the message that says whether a kernel executes something: busy, idle or starting.
func Status(state string) any { return values{"execution_state": state} }

// Input is the content of execute_input, which tells all clients of a kernel what is executed.
func Input(code string, count int) any { return values{"code": code, "execution_count": count} }

// An Outcome gathers what execute_reply says of a cell. The zero value is one that has not begun.
type Outcome struct {
	Count int
	err   *api.CellEvent
}

// Failed reports whether the cell ended with an error, or was interrupted.
func (o *Outcome) Failed() bool { return o.err != nil }

// Tell returns the type and the content of the message on iopub that tells of an event; an empty type: it has none.
func (o *Outcome) Tell(e api.CellEvent, code string) (kind string, content any) {
	switch e.Type {
	case api.CellEventStart:
		o.Count = e.Count
		return "execute_input", Input(code, e.Count)
	case api.CellEventStdout, api.CellEventStderr:
		return "stream", values{"name": string(e.Type), "text": e.Text}
	case api.CellEventDisplay:
		return "display_data", values{"data": forms(e.Data), "metadata": forms(e.Metadata), "transient": values{}}
	case api.CellEventResult:
		return "execute_result", values{"data": forms(e.Data), "metadata": forms(e.Metadata), "execution_count": o.Count}
	case api.CellEventError:
		o.err = &e
		return "error", mistake(e)
	case api.CellEventEnd:
		return o.end(e)
	case api.CellEventAsk, api.CellEventKeepAlive:
	}
	return "", nil
}

// end tells of an end that no error came before.
func (o *Outcome) end(e api.CellEvent) (kind string, content any) {
	if e.Status == api.CellOK || o.err != nil {
		return "", nil
	}
	name := map[api.CellStatus]string{api.CellInterrupted: "KeyboardInterrupt", api.CellTimeout: "TimeoutError"}[e.Status]
	if name == "" {
		name = "DeadKernelError"
	}
	o.err = &api.CellEvent{Name: name, Value: "the cell ended: " + string(e.Status)}
	return "error", mistake(*o.err)
}

// Reply is the content of execute_reply.
func (o *Outcome) Reply() any {
	if o.err == nil {
		return values{"status": "ok", "execution_count": o.Count, "user_expressions": values{}, "payload": []string{}}
	}
	reply := mistake(*o.err)
	reply["status"] = "error"
	reply["execution_count"] = o.Count
	return reply
}

// Refuse ends a cell that brig did not execute, in its words.
func (o *Outcome) Refuse(p *api.Problem) (kind string, content any) {
	o.err = &api.CellEvent{Name: string(p.Code), Value: p.Detail}
	return "error", mistake(*o.err)
}

// Aborted is the content of execute_reply for a cell behind one that failed.
func Aborted() any {
	return values{"status": "aborted", "execution_count": 0, "user_expressions": values{}}
}

func mistake(e api.CellEvent) values {
	lines := e.Traceback
	if len(lines) == 0 {
		lines = []string{e.Name + ": " + e.Value}
	}
	return values{"ename": e.Name, "evalue": e.Value, "traceback": lines}
}

func forms(data map[string]json.RawMessage) map[string]json.RawMessage {
	if data == nil {
		return map[string]json.RawMessage{}
	}
	return data
}

// Reply returns the type and the content of the reply to a request that changes nothing: about the kernel, or of what
// brig has not and answers with nothing found. An empty type: it is no request.
func Reply(k api.KernelLanguage, version string, m Message) (kind string, content any) {
	base, is := strings.CutSuffix(m.Header.Type, "_request")
	if !is {
		return "", nil
	}
	reply := values{"status": "ok"}
	switch base {
	case "kernel_info":
		reply["protocol_version"], reply["implementation"], reply["implementation_version"] = Protocol, "brig", version
		reply["language_info"], reply["banner"], reply["help_links"] = LanguageInfo(k), "brig "+version, []string{}
	case "is_complete":
		reply = values{"status": "unknown"}
	case "complete":
		var at struct {
			Cursor int `json:"cursor_pos"`
		}
		_ = json.Unmarshal(m.Content, &at) // without a position nothing is replaced at 0
		reply["matches"], reply["metadata"], reply["cursor_start"], reply["cursor_end"] = []string{}, values{}, at.Cursor, at.Cursor
	case "inspect":
		reply["found"], reply["data"], reply["metadata"] = false, values{}, values{}
	case "history":
		reply["history"] = []string{}
	case "comm_info":
		reply["comms"] = values{}
	case "interrupt":
	case "shutdown":
		reply["restart"] = Restarts(m)
	default:
		reply = values{"status": "error", "ename": "NotImplementedError",
			"evalue": "brig has no " + m.Header.Type, "traceback": []string{}}
	}
	return base + "_reply", reply
}

// Restarts reports whether a shutdown_request wants another interpreter.
func Restarts(m Message) bool {
	var ask struct{ Restart bool }
	return json.Unmarshal(m.Content, &ask) == nil && ask.Restart
}

// LanguageInfo describes the language of a kernel for editors.
func LanguageInfo(k api.KernelLanguage) any {
	switch k {
	case api.KernelJavaScript:
		return values{"name": "javascript", "version": "", "mimetype": "text/javascript", "file_extension": ".js"}
	case api.KernelBash:
		return values{"name": "bash", "version": "", "mimetype": "text/x-sh", "file_extension": ".sh", "codemirror_mode": "shell"}
	}
	return values{"name": "python", "version": "3", "mimetype": "text/x-python", "file_extension": ".py",
		"pygments_lexer": "ipython3", "nbconvert_exporter": "python", "codemirror_mode": values{"name": "ipython", "version": 3}}
}
