package runs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// lastValue is a driver that runs a Python program and records the value of its last expression.
//
//go:embed lastvalue.py
var lastValue []byte

const (
	pythonMain = "main.py"
	driverName = ".brig-lastvalue.py"
	valueName  = ".brig-value" // the same name as in lastvalue.py
)

// RunOf converts an Execute request to a Run.
func RunOf(e api.Execute) (api.Run, error) {
	switch {
	case e.Code == nil:
		return api.Run{}, api.Refuse(api.CodeBadRequest, "there is nothing to run: set code")
	case len(e.Allow) > 0 && !e.NetworkEnabled:
		return api.Run{}, api.Refuse(api.CodeBadRequest,
			"allow lists hosts, and network_enabled is not true: set it, or leave allow out")
	case e.TimeoutSeconds < 0, math.IsNaN(e.TimeoutSeconds), e.TimeoutSeconds > 1e6,
		e.TimeoutSeconds > 0 && e.TimeoutSeconds < 1e-9: // it would become zero, which means the language's own limit
		return api.Run{}, api.Refuse(api.CodeBadLimits,
			"timeout_seconds is %v: write how many seconds the program may take", e.TimeoutSeconds)
	}

	r := api.Run{
		Language: e.Language, Stdin: e.Stdin, Env: e.Env, Requirements: e.Requirements,
		Labels: api.Labels{Project: e.Project, Task: e.Task, Run: e.Run},
	}
	if r.Language == "" {
		r.Language = "python"
	}

	switch {
	case len(e.Allow) > 0:
		r.Network, r.Allow = api.NetworkAllow, e.Allow
	case e.NetworkEnabled:
		r.Network = api.NetworkPublic
	}

	if e.TimeoutSeconds > 0 {
		r.Limits.Wall = api.Duration(time.Duration(e.TimeoutSeconds * float64(time.Second)))
	}

	// The order of a map is random. The files are sorted, so that the same request makes the same run.
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		r.Files = append(r.Files, api.File{Name: name, Content: api.Bytes(e.Files[name])})
	}

	if !isPython(r.Language) {
		r.Source = api.Bytes(*e.Code)
		return r, nil
	}

	// In Python the program that runs is the driver, and the caller's code is a file that the driver
	// reads.
	if _, taken := e.Files[pythonMain]; taken {
		return r, api.Refuse(api.CodeBadFile, "file %q has the same name as the file of the code: rename it", pythonMain)
	}

	r.Source, r.SourceName = lastValue, driverName
	r.Files = append(r.Files, api.File{Name: pythonMain, Content: api.Bytes(*e.Code)})
	return r, nil
}

func isPython(language string) bool {
	return slices.Contains([]string{"python", "python3", "py", "python-full"}, language)
}

// inSeconds returns err with the name and value of a limit as the caller wrote them:
// timeout_seconds limits wall time, and with that processor time.
func inSeconds(err error, timeout float64) error {
	var e *api.Error
	if timeout == 0 || !errors.As(err, &e) || e.Code != api.CodeBadLimits && e.Code != api.CodeAboveCeiling {
		return err
	}

	span := api.Duration(timeout * float64(time.Second)).String()
	for _, name := range []string{"wall", "cpu"} {
		if rest, is := strings.CutPrefix(e.Message, "limit "+name+" is "+span); is {
			renamed := *e
			renamed.Message = fmt.Sprintf("timeout_seconds is %v", timeout) + rest
			return &renamed
		}
	}

	return err
}

// ofField returns err with the name of the field that the caller wrote.
func ofField(name string, err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Message = name + ": " + e.Message
	return &named
}

// executed converts a result to the simple form.
func executed(language string, at time.Time, res api.Result) api.Executed {
	x := api.Executed{
		Status: "error", Stdout: text(res.Stdout), Stderr: text(res.Stderr), ExitCode: res.Exit(),
		Findings: res.Findings, ExecutionTime: float64(res.Timing.Wall) / 1e9, Files: map[string]api.FileValue{},
		Run: res.Run, Language: language,
		Timestamp: at.UTC().Format(time.RFC3339Nano), Network: res.Network, Verdict: res.Verdict,
	}

	for _, f := range res.Files {
		if f.Name == valueName && isPython(language) {
			v := text(f.Content)
			x.Value = &v
			continue
		}
		x.Files[f.Name] = api.FileValue(f.Content)
	}

	switch res.Verdict {
	case api.OK:
		out := strings.TrimSuffix(x.Stdout, "\n")
		x.Status, x.Result = "success", &out
		return x
	case api.WallLimit, api.CPULimit:
		x.Timeout = true
	}

	why := failure(language, res)
	x.Error = &why
	return x
}

// failure describes in one line what went wrong.
func failure(language string, res api.Result) string {
	stderr := bytes.TrimSpace(res.Stderr)
	switch last := strings.TrimSpace(text(stderr[bytes.LastIndexByte(stderr, '\n')+1:])); {
	case res.Verdict == api.WallLimit || res.Verdict == api.CPULimit:
		return fmt.Sprintf("TimeoutError: the program was ended by its %s", res.Verdict)
	case (res.Verdict == api.Nonzero || res.Verdict == api.CompileError) && last != "":
		if d := res.Diagnosis; d != nil && d.Message != "" && d.Type != "" && d.Type != string(res.Verdict) {
			return d.Type + ": " + d.Message
		}
		return last

	case res.Verdict == api.Nonzero:
		return fmt.Sprintf("the program ended with exit code %d", res.ExitCode)
	case res.Verdict == api.Signaled:
		return fmt.Sprintf("the program was ended by %s", res.SignalName)
	case res.Verdict == api.Denied && res.Denial != nil:
		return fmt.Sprintf("the program was ended because it made the system call %s, which is not allowed",
			res.Denial.Syscall)
	case res.Diagnosis != nil && res.Diagnosis.Message != "":
		return res.Diagnosis.Message
	}

	return fmt.Sprintf("the program ended with verdict %s", res.Verdict)
}

// execute answers POST /execute.
func (rs *Runs) execute(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := rs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.Execute](rs.Core, r.Context(), raw, "request")
	if err != nil {
		return err
	}

	run, err := RunOf(ask)
	if err != nil {
		return err
	}
	if err := rs.permits.Network(core.CallerOf(r.Context()), run); err != nil {
		return ofField("network_enabled", err)
	}

	o, err := rs.newRequest(r, run)
	if err != nil {
		return inSeconds(err, ask.TimeoutSeconds)
	}
	defer o.releaseBlobs()

	o.SourceSize, o.source = len(*ask.Code), []byte(*ask.Code)
	if isPython(run.Language) {
		o.main = pythonMain
	}

	rs.applyWait(w, r, o)
	ctx, done, err := rs.Track(r)
	if err != nil {
		return err
	}
	defer done()

	res, err := rs.Dispatch(ctx, o)
	if err != nil {
		return inSeconds(err, ask.TimeoutSeconds)
	}

	release() // the request is no longer needed, however long sending the response takes
	rs.Reply(w, r, http.StatusOK, executed(run.Language, o.Created, res))
	return nil
}
