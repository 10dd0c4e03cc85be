package dialecttest

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// sessions compares what is asked for of sessions, and returns what is told of them. told is false if a command is
// executed in one: the dialect tells nothing of it.
func (a *archive) sessions(d dialect.Dialect, ask dialect.Sessions,
	fail func(*api.Problem, dialect.Word) dialect.Response) (r dialect.Response, told bool) {
	a.t.Helper()
	a.compare("asks.json", lines(a.t, map[string]any{"project": ask.Project, "name": ask.Name, "exec": ask.Exec}))
	if r, is := a.failure(d, fail); is || ask.Exec {
		return r, is
	}

	var all []api.Session
	if a.read("sessions.json", &all); ask.Name != "" && len(all) != 1 {
		a.t.Fatalf("%d sessions of the name %q", len(all), ask.Name)
	}
	return ask.Tell(all), true
}

// kernels compares what is asked for of kernels, and returns what is told of them, as sessions does.
func (a *archive) kernels(d dialect.Dialect, ask dialect.Kernels,
	fail func(*api.Problem, dialect.Word) dialect.Response) (r dialect.Response, told bool) {
	a.t.Helper()
	asks := map[string]any{"do": ask.Do, "id": ask.ID}
	if ask.Do == dialect.StartKernel {
		asks["start"], asks["session"] = ask.Start, ask.Session
	}
	a.compare("asks.json", lines(a.t, asks))
	if r, is := a.failure(d, fail); is || ask.Do == dialect.KernelChannels {
		return r, is
	}

	var all []api.Kernel
	if a.read("kernels.json", &all); ask.Do != dialect.ListKernels && len(all) != 1 {
		a.t.Fatalf("%d kernels of the id %q", len(all), ask.ID)
	}
	return ask.Tell(all), true
}
