package operator

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// poolTimeout is how long the engine may take to answer.
const poolTimeout = 5 * time.Second

func (o *Operator) getMachines(w http.ResponseWriter, r *http.Request) error {
	c := core.CallerOf(r.Context())
	all := []api.Machine{o.thisMachine(c)}
	if o.site.Pool != nil {
		ctx, cancel := context.WithTimeout(r.Context(), poolTimeout)
		defer cancel()

		workers, err := o.site.Pool.Workers(ctx)
		all = append(all, workers...)
		if err != nil { // what is known is shown all the same
			all = append(all, o.silentEngine(c, err))
		}
	}
	o.Reply(w, r, http.StatusOK, api.Page[api.Machine]{Items: all})
	return nil
}

// thisMachine is the machine of the service's own agent, which executes all runs of the service.
func (o *Operator) thisMachine(c core.Caller) api.Machine {
	health, languages, err := o.Agent.Get()
	m := api.Machine{This: true, State: api.MachineUp, Version: health.Version, Slots: health.Slots, Running: health.Leased,
		Cells: health.Cells, Memory: health.Memory, MemoryMax: health.MemoryMax, Kernel: health.Kernel, Cgroups: health.CgroupMode,
		CPUs: runtime.NumCPU(), Load: loadOf("/proc/loadavg"), Seen: time.Now().UTC()}
	if name, err := os.Hostname(); err == nil {
		m.Name = name
	}
	for _, l := range languages {
		if l.Stored {
			m.Languages = append(m.Languages, l.Name)
		}
	}
	slices.Sort(m.Languages)

	if c.SeesAll() {
		judged, notJudged := o.Activity.Judged.Load(), o.Activity.NotJudged.Load()
		m.Judged, m.NotJudged = &judged, &notJudged
	}
	if o.Stopping.Err() != nil {
		m.State = api.MachineDraining
	}
	if err != nil {
		m.State, m.Seen = api.MachineGone, time.Time{}
		m.Running, m.Cells, m.Memory = 0, 0, 0
		m.Problem = "the agent does not answer: " + err.Error()
	}
	return m
}

// silentEngine stands for the workers of an engine that does not tell them. Where the engine is, and what went wrong there,
// is for those who may see what belongs to all keys.
func (o *Operator) silentEngine(c core.Caller, err error) api.Machine {
	o.Log.Warn("the engine does not tell its workers", "engine", o.site.Pool.Name(), "err", err)
	m := api.Machine{Name: "engine", State: api.MachineGone, Problem: "it does not tell its workers: ask the operator"}
	if c.SeesAll() {
		m.Name, m.Problem = o.site.Pool.Name(), "it does not tell its workers: "+err.Error()
	}
	return m
}

// loadOf reads the load of the last minute; nil if it is not known.
func loadOf(file string) *float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &load
}

// drain has a worker take no more jobs and end. The core has nothing that lets it take jobs again: its supervisor or its
// operator starts it.
func (o *Operator) drain(w http.ResponseWriter, r *http.Request) error {
	if err := forAdmins(core.CallerOf(r.Context()), "machines are for all keys"); err != nil {
		return err
	}

	name := r.PathValue("worker")
	if o.site.Pool == nil {
		return api.Refuse(api.CodeNotFound, "there is no worker %.80q: this service knows no engine (brig serve --engine)", name)
	}
	ctx, cancel := context.WithTimeout(r.Context(), poolTimeout)
	defer cancel()

	workers, err := o.site.Pool.Workers(ctx)
	at := slices.IndexFunc(workers, func(m api.Machine) bool { return m.Name == name })
	switch {
	case at < 0 && err != nil:
		return api.Fail(api.CodeInternal, "the engine of the workers does not answer: %w", err)
	case at < 0:
		return api.Refuse(api.CodeNotFound, "there is no worker %.80q: GET /v1/machines lists them", name)
	}
	if err := o.site.Pool.Drain(ctx, name); err != nil {
		return api.Fail(api.CodeInternal, "%w", err)
	}

	m := workers[at]
	m.State = api.MachineDraining
	o.Reply(w, r, http.StatusOK, m)
	return nil
}
