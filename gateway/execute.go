package gateway

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// An Execute is a run as simple clients ask for one.
type Execute struct {
	Code           string               `json:"code"`
	Language       string               `json:"language,omitempty"`        // empty: python
	TimeoutSeconds float64              `json:"timeout_seconds,omitempty"` // zero: the language's own limit
	Stdin          api.Bytes            `json:"stdin,omitempty"`
	Requirements   []string             `json:"requirements,omitempty"` // packages to install: refused, until that exists
	Files          map[string]FileValue `json:"files,omitempty"`        // by name, below the working directory
	Env            map[string]string    `json:"env,omitempty"`
	Project        string               `json:"project,omitempty"`
	Task           string               `json:"task,omitempty"`
}

// Executed is what became of it.
type Executed struct {
	Status        string               `json:"status"`         // success, or error
	Result        *string              `json:"result"`         // stdout without its final newline; null on error
	Value         *string              `json:"value"`          // the repr of a last bare Python expression, unless that is None
	Error         *string              `json:"error"`          // one line; null on success
	Stdout        string               `json:"stdout"`         // what is no UTF-8 is replaced: ask /v1/runs for bytes
	Stderr        string               `json:"stderr"`         //
	ExitCode      int                  `json:"exit_code"`      // 124 after a timeout, 128 and the signal after one
	Timeout       bool                 `json:"timeout"`        //
	ExecutionTime float64              `json:"execution_time"` // seconds, from start to exit
	Files         map[string]FileValue `json:"files"`          // written or changed by the program
	Run           string               `json:"run_id"`         //
	Language      string               `json:"language"`       //
	Timestamp     string               `json:"timestamp"`      // RFC 3339, UTC, of the request
	Verdict       api.Verdict          `json:"verdict"`        //
}

// A FileValue is a file's content: in JSON a string where it is text, else an
// object of content and encoding, which is base64.
type FileValue []byte

// MarshalJSON writes text as a string.
func (f FileValue) MarshalJSON() ([]byte, error) {
	if utf8.Valid(f) {
		return json.Marshal(string(f))
	}
	return json.Marshal(encodedFile{base64.StdEncoding.EncodeToString(f), "base64"})
}

type encodedFile struct {
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitempty"`
}

// UnmarshalJSON reads either form; without an encoding, or with utf-8, content is
// text.
func (f *FileValue) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*f = FileValue(text)
		return nil
	}
	var e encodedFile
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf(`write text as a string, or {"content": "...", "encoding": "base64"}`)
	}
	switch strings.ToLower(e.Encoding) {
	case "", "utf-8", "utf8", "text":
		*f = FileValue(e.Content)
	case "base64":
		b, err := base64.StdEncoding.DecodeString(e.Content)
		if err != nil {
			return fmt.Errorf("base64: %w", err)
		}
		*f = b
	default:
		return fmt.Errorf("encoding %q: use base64, or none for text", e.Encoding)
	}
	return nil
}

// lastValue runs a Python program and notes the value of its last expression.
//
//go:embed lastvalue.py
var lastValue []byte

const (
	pythonMain = "main.py"
	driverName = ".brig-lastvalue.py"
	valueName  = ".brig-value" // as lastvalue.py has it
)

// run is the Run that an Execute stands for.
func (e Execute) run() (api.Run, error) {
	switch {
	case e.Code == "":
		return api.Run{}, api.Refuse(api.CodeBadRequest, "code is empty: there is nothing to run")
	case len(e.Requirements) > 0:
		return api.Run{}, api.Refuse(api.CodeUnsupported, "requirements: installing packages does not exist yet; use an image that has them, such as language python-full")
	case e.TimeoutSeconds < 0 || math.IsNaN(e.TimeoutSeconds) || e.TimeoutSeconds > 1e6:
		return api.Run{}, api.Refuse(api.CodeBadLimits, "timeout_seconds is %v: write how many seconds the program may take", e.TimeoutSeconds)
	}
	r := api.Run{
		Language: e.Language, Stdin: e.Stdin, Env: e.Env,
		Labels: api.Labels{Project: e.Project, Task: e.Task},
	}
	if r.Language == "" {
		r.Language = "python"
	}
	if e.TimeoutSeconds > 0 {
		r.Limits.Wall = api.Duration(time.Duration(e.TimeoutSeconds * float64(time.Second)))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		r.Files = append(r.Files, api.File{Name: name, Content: api.Bytes(e.Files[name])})
	}
	if !isPython(r.Language) {
		r.Source = api.Bytes(e.Code)
		return r, nil
	}
	if _, taken := e.Files[pythonMain]; taken {
		return r, api.Refuse(api.CodeBadFile, "file %q has the name the code gets: rename it", pythonMain)
	}
	r.Source, r.SourceName = lastValue, driverName
	r.Files = append(r.Files, api.File{Name: pythonMain, Content: api.Bytes(e.Code)})
	return r, nil
}

func isPython(language string) bool {
	return slices.Contains([]string{"python", "python3", "py", "python-full"}, language)
}

// timeoutExit is what timeout(1) exits with.
const timeoutExit = 124

// executed puts a result into the simple form.
func executed(language string, at time.Time, res api.Result) Executed {
	x := Executed{
		Status: "error", Stdout: text(res.Stdout), Stderr: text(res.Stderr), ExitCode: res.ExitCode,
		ExecutionTime: float64(res.Timing.Wall) / 1e9, Files: map[string]FileValue{}, Run: res.Run, Language: language,
		Timestamp: at.UTC().Format(time.RFC3339Nano), Verdict: res.Verdict,
	}
	for _, f := range res.Files {
		if f.Name == valueName && isPython(language) {
			v := text(f.Content)
			x.Value = &v
			continue
		}
		x.Files[f.Name] = FileValue(f.Content)
	}
	switch res.Verdict {
	case api.OK:
		out := strings.TrimSuffix(x.Stdout, "\n")
		x.Status, x.Result = "success", &out
		return x
	case api.WallLimit, api.CPULimit:
		x.Timeout, x.ExitCode = true, timeoutExit
	default:
		if res.Signal != 0 {
			x.ExitCode = 128 + res.Signal
		}
	}
	why := failure(language, res)
	x.Error = &why
	return x
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// failure says in one line what went wrong.
func failure(language string, res api.Result) string {
	lines := strings.Split(strings.TrimSpace(text(res.Stderr)), "\n")
	switch last := strings.TrimSpace(lines[len(lines)-1]); {
	case res.Verdict == api.WallLimit || res.Verdict == api.CPULimit:
		return fmt.Sprintf("TimeoutError: the program was ended by its %s", res.Verdict)
	case (res.Verdict == api.Nonzero || res.Verdict == api.CompileError) && last != "":
		return last
	case res.Verdict == api.Nonzero:
		return fmt.Sprintf("the program ended with exit code %d", res.ExitCode)
	case res.Verdict == api.Signaled:
		return fmt.Sprintf("the program was ended by %s", res.SignalName)
	case res.Verdict == api.Denied && res.Denial != nil:
		return fmt.Sprintf("the program was ended for the system call %s, which is not allowed", res.Denial.Syscall)
	}
	return fmt.Sprintf("the program ended with verdict %s", res.Verdict)
}

// execute answers POST /execute.
func (g *Gateway) execute(w http.ResponseWriter, r *http.Request) error {
	raw, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	ask, err := api.Parse[Execute](raw, "request")
	if err != nil {
		return err
	}
	run, err := ask.run()
	if err != nil {
		return err
	}
	o, err := g.order(r.Context(), run)
	if err != nil {
		return err
	}
	o.size = len(ask.Code)
	ctx, done := g.wanted(r)
	defer done()
	res, err := g.carry(ctx, o)
	if err != nil {
		return err
	}
	g.reply(w, http.StatusOK, executed(run.Language, o.created, res))
	return nil
}
