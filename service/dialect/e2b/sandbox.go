package e2b

import (
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	// envdVersion is what brig says of its envd. Before 0.6.2 clients send no metadata of files, which brig does not keep,
	// and say so.
	envdVersion = "0.6.1"

	defaultTimeout = 300            // seconds, of clients that send none
	home           = "/home/user"   // a second name of /box
	image          = "sandbox"      // of a template that is none of the operator's
	templateName   = "e2b:template" // in the metadata of a session: what the client asked for
)

// createRequest is the body of a request for a sandbox.
type createRequest struct {
	Template  string            `json:"templateID"`
	Timeout   *float64          `json:"timeout"`
	Metadata  map[string]string `json:"metadata"`
	Env       map[string]string `json:"envVars"`
	AutoPause bool              `json:"autoPause"`
	Mounts    []struct{}        `json:"volumeMounts"`
}

// planCreate makes a sandbox. Internet is on by default for clients, and there is none: that refuses nothing.
func planCreate(r dialect.Request, on dialect.Agent) dialect.Plan {
	var ask createRequest
	if err := json.Unmarshal(r.Body, &ask); err != nil {
		return refuse(400, "the body is no request for a sandbox: "+err.Error())
	}
	life, bad := timeoutOf(ask.Timeout)
	switch {
	case bad != "":
		return refuse(400, bad)
	case ask.AutoPause:
		return refuse(400, "brig pauses no sandbox: leave autoPause (lifecycle.onTimeout: pause) out")
	case len(ask.Mounts) > 0:
		return refuse(400, "brig has no volumes of E2B: leave volumeMounts out")
	}

	s := api.SessionRequest{Life: life, Idle: longestIdle, Env: map[string]string{"HOME": home, "PWD": home, "USER": "user",
		"LOGNAME": "user"}, Metadata: map[string]string{}, WritableRoot: true, WorkdirAlias: home}
	maps.Copy(s.Env, ask.Env)
	maps.Copy(s.Metadata, ask.Metadata)
	s.Metadata[templateName] = ask.Template
	return create(r, on, s, imagesOf(ask.Template, on))
}

// longestIdle: a sandbox of E2B ends by its timeout alone.
const longestIdle = api.Duration(30 * 24 * time.Hour)

// A place is where a session can come from.
type place struct{ image, language string }

// imagesOf are the places of a template, the best first: an image or a language of its name, or of the templates that
// clients have without asking, what the operator has.
func imagesOf(template string, on dialect.Agent) []place {
	switch template {
	case "", "base", "code-interpreter-v1":
		places := []place{{image: image}}
		for _, name := range []string{"python-full", "python", "bash"} {
			if l, ok := on.Find(name); ok {
				places = append(places, place{language: l.Name})
			}
		}
		return places
	}
	if l, ok := on.Find(template); ok {
		return []place{{language: l.Name}}
	}
	return []place{{image: template}}
}

// create asks for a session of the first place that there is.
func create(r dialect.Request, on dialect.Agent, s api.SessionRequest, places []place) dialect.Plan {
	s.Image, s.Language = places[0].image, places[0].language
	return dialect.Plan{
		Call: &dialect.Call{Method: "POST", Path: "/v1/sessions", Body: dialect.Encode(s)},
		Then: func(reply dialect.Reply) dialect.Plan {
			switch p := reply.Problem; {
			case p == nil:
				return dialect.Refuse(tellSandbox(r, 201, reply))
			case p.Code == api.CodeNoImage && len(places) > 1:
				return create(r, on, s, places[1:])
			case p.Code == api.CodeNoImage:
				return refuse(404, "there is no template "+strconv.Quote(s.Metadata[templateName])+": "+p.Detail)
			}
			return tellProblem(reply.Problem)
		},
	}
}

// timeoutOf is how long a sandbox is to live.
func timeoutOf(seconds *float64) (life api.Duration, bad string) {
	n := float64(defaultTimeout)
	if seconds != nil {
		n = *seconds
	}
	if !(n >= 0) || n > math.MaxInt32 {
		return 0, "timeout must be a number of seconds, 0 or more"
	}
	return api.Duration(max(time.Duration(n*float64(time.Second)), time.Second)), ""
}

// sandbox is what clients read of a sandbox that they have made.
type sandbox struct {
	Template string `json:"templateID"`
	ID       string `json:"sandboxID"`
	Client   string `json:"clientID"`
	Version  string `json:"envdVersion"`
	Token    string `json:"envdAccessToken,omitempty"`
	Traffic  string `json:"trafficAccessToken,omitempty"`
}

func sandboxFrom(s api.Session) sandbox {
	return sandbox{Template: s.Metadata[templateName], ID: s.ID, Client: "brig", Version: envdVersion}
}

// tellSandbox tells of a sandbox, with the token by which its envd knows the client.
func tellSandbox(r dialect.Request, status int, reply dialect.Reply) dialect.Response {
	var s api.Session
	parse(reply.Body, &s)
	told := sandboxFrom(s)
	told.Token = r.Token(s.ID)
	told.Traffic = told.Token
	return dialect.JSON(status, "application/json", told)
}

// detail is what clients read of a sandbox that they ask for.
type detail struct {
	sandbox
	Started  string            `json:"startedAt"`
	Ends     string            `json:"endAt"`
	State    string            `json:"state"`
	CPUs     int               `json:"cpuCount"`
	Memory   int64             `json:"memoryMB"`
	Disk     int64             `json:"diskSizeMB"`
	Metadata map[string]string `json:"metadata"`
}

func detailOf(s api.Session) detail {
	own := maps.Clone(s.Metadata)
	delete(own, templateName)
	if own == nil {
		own = map[string]string{}
	}
	return detail{sandbox: sandboxFrom(s), Started: s.Created, Ends: s.Ends, State: "running",
		CPUs: int(math.Ceil(s.Limits.CPUs)), Memory: int64(s.Limits.Memory / api.MiB), Disk: int64(s.Limits.Scratch / api.MiB), Metadata: own}
}

func tellProblem(p *api.Problem) dialect.Plan { return dialect.Refuse(refusedBy(fail)(p)) }

// onSandbox plans one call that concerns a sandbox, whose reply tell tells.
func onSandbox(c dialect.Call, tell func(dialect.Reply) dialect.Response) dialect.Plan {
	return dialect.Plan{Call: &c, Then: func(reply dialect.Reply) dialect.Plan {
		if reply.Problem != nil {
			return tellProblem(reply.Problem)
		}
		return dialect.Refuse(tell(reply))
	}}
}

func nothing(dialect.Reply) dialect.Response { return dialect.Response{Status: 204} }

func planInfo(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onSandbox(dialect.Call{Method: "GET", Path: below(r.Path["id"], "", nil)}, func(reply dialect.Reply) dialect.Response {
		var s api.Session
		parse(reply.Body, &s)
		return dialect.JSON(200, "application/json", detailOf(s))
	})
}

func planKill(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onSandbox(dialect.Call{Method: "DELETE", Path: below(r.Path["id"], "", nil)}, nothing)
}

// timeoutRequest is the body of requests that set the end of a sandbox.
type timeoutRequest struct {
	Timeout  *float64 `json:"timeout"`
	Duration *float64 `json:"duration"`
}

// setEnd plans another end of a sandbox.
func setEnd(r dialect.Request, longer bool, tell func(dialect.Reply) dialect.Response) dialect.Plan {
	var ask timeoutRequest
	if err := json.Unmarshal(r.Body, &ask); err != nil && len(r.Body) > 0 {
		return refuse(400, "the body is no timeout: "+err.Error())
	}
	if ask.Timeout == nil {
		ask.Timeout = ask.Duration
	}
	life, bad := timeoutOf(ask.Timeout)
	if bad != "" {
		return refuse(400, bad)
	}
	return onSandbox(dialect.Call{Method: "POST", Path: below(r.Path["id"], "/life", nil),
		Body: dialect.Encode(api.LifeRequest{EndsIn: life, Longer: longer})}, tell)
}

func planTimeout(r dialect.Request, _ dialect.Agent) dialect.Plan { return setEnd(r, false, nothing) }
func planRefresh(r dialect.Request, _ dialect.Agent) dialect.Plan { return setEnd(r, true, nothing) }

func planConnect(r dialect.Request, _ dialect.Agent) dialect.Plan {
	status := 200
	return setEnd(r, true, func(reply dialect.Reply) dialect.Response { return tellSandbox(r, status, reply) })
}

// planList lists the sandboxes that a query selects.
func planList(r dialect.Request, _ dialect.Agent) dialect.Plan {
	want, bad := filterOf(r.Query)
	if bad != "" {
		return refuse(400, bad)
	}
	return onSandbox(dialect.Call{Method: "GET", Path: "/v1/sessions"}, func(reply dialect.Reply) dialect.Response {
		var all api.Page[api.Session]
		parse(reply.Body, &all)
		page, next := want.page(all.Items)
		told := []detail{}
		for _, s := range page {
			told = append(told, detailOf(s))
		}
		res := dialect.JSON(200, "application/json", told)
		if next != "" {
			res.Header["X-Next-Token"] = next
		}
		return res
	})
}

// A filter selects sandboxes.
type filter struct {
	metadata  url.Values
	running   bool
	template  string
	after     time.Time // started after it
	ascending bool
	limit     int
	from      string // what page returned before
}

// maxPage is the most sandboxes of a page, as E2B has it.
const maxPage = 100

func filterOf(q url.Values) (f filter, bad string) {
	var err error
	f = filter{running: true, template: q.Get("template"), ascending: q.Get("order") == "asc", limit: maxPage, from: q.Get("nextToken")}
	if f.metadata, err = url.ParseQuery(q.Get("metadata")); err != nil {
		return f, "metadata must be names and texts, as in a query"
	}
	decoded := url.Values{} // clients encode names and texts once more
	for name, values := range f.metadata {
		for _, v := range values {
			key, kerr := url.QueryUnescape(name)
			text, terr := url.QueryUnescape(v)
			if kerr != nil || terr != nil {
				return f, "metadata must be names and texts, as in a query"
			}
			decoded.Add(key, text)
		}
	}
	f.metadata = decoded
	if states := strings.Join(q["state"], ","); states != "" {
		f.running = slices.Contains(strings.Split(states, ","), "running")
	}
	if text := q.Get("startedAfter"); text != "" {
		if f.after, err = time.Parse(time.RFC3339, text); err != nil {
			return f, "startedAfter must be a time such as 2026-11-30T15:00:00Z"
		}
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return f, "limit must be a whole number from 1 on"
		}
		f.limit = min(n, maxPage)
	}
	return f, ""
}

// orderOf is the place of a session in the order of lists.
func orderOf(s api.Session) string { return s.Created + "_" + s.ID }

func (f filter) has(s api.Session) bool {
	started, _ := time.Parse(time.RFC3339, s.Created) // brig wrote it
	if _, ours := s.Metadata[templateName]; !ours || !f.running || f.template != "" && f.template != s.Metadata[templateName] ||
		!f.after.IsZero() && !started.After(f.after) {
		return false
	}
	for name, texts := range f.metadata {
		for _, text := range texts {
			if have, ok := s.Metadata[name]; !ok || have != text {
				return false
			}
		}
	}
	return true
}

// page returns the next page, and what to ask for the one after it; empty: there is none.
func (f filter) page(all []api.Session) (page []api.Session, next string) {
	all = slices.DeleteFunc(all, func(s api.Session) bool { return !f.has(s) })
	slices.SortFunc(all, func(a, b api.Session) int {
		if order := strings.Compare(orderOf(a), orderOf(b)); f.ascending {
			return order
		} else {
			return -order
		}
	})
	for _, s := range all {
		at := orderOf(s)
		if f.from != "" && (f.ascending && at <= f.from || !f.ascending && at >= f.from) {
			continue
		}
		if len(page) == f.limit {
			return page, orderOf(page[len(page)-1])
		}
		page = append(page, s)
	}
	return page, ""
}

// metric is what a sandbox uses.
type metric struct {
	Time      string  `json:"timestamp"`
	Unix      int64   `json:"timestampUnix"`
	CPUs      int     `json:"cpuCount"`
	CPUUsed   float64 `json:"cpuUsedPct"`
	MemUsed   int64   `json:"memUsed"`
	MemTotal  int64   `json:"memTotal"`
	MemCache  int64   `json:"memCache"`
	DiskUsed  int64   `json:"diskUsed"`
	DiskTotal int64   `json:"diskTotal"`
}

// planMetrics tells what a sandbox uses now: brig keeps no series. Its processor time is the average of its life.
func planMetrics(r dialect.Request, _ dialect.Agent) dialect.Plan {
	for name, outside := range map[string]func(int64) bool{
		"start": func(t int64) bool { return t > r.Now.Unix()+1 }, "end": func(t int64) bool { return t < r.Now.Unix()-10 },
	} {
		text := url.Values(r.Query).Get(name)
		t, err := strconv.ParseInt(text, 10, 64)
		if text != "" && err != nil {
			return refuse(400, name+" must be a number of seconds since 1970")
		}
		if text != "" && outside(t) {
			return onSandbox(dialect.Call{Method: "GET", Path: below(r.Path["id"], "", nil)}, func(dialect.Reply) dialect.Response {
				return dialect.JSON(200, "application/json", []metric{})
			})
		}
	}
	return onSandbox(dialect.Call{Method: "GET", Path: below(r.Path["id"], "", nil)}, func(reply dialect.Reply) dialect.Response {
		var s api.Session
		parse(reply.Body, &s)
		m := metric{Time: r.Now.Format(time.RFC3339), Unix: r.Now.Unix(), CPUs: int(math.Ceil(s.Limits.CPUs)),
			MemUsed: valueOf(s.Usage.Memory), MemTotal: int64(s.Limits.Memory), DiskUsed: s.Usage.Scratch, DiskTotal: int64(s.Limits.Scratch)}
		if started, err := time.Parse(time.RFC3339, s.Created); err == nil && r.Now.After(started) {
			m.CPUUsed = float64(valueOf(s.Usage.CPU)) / float64(r.Now.Sub(started)) * 100
		}
		return dialect.JSON(200, "application/json", []metric{m})
	})
}

// valueOf is a figure; one that is not known is 0.
func valueOf(m api.Measurement) int64 {
	if m.Value == nil {
		return 0
	}
	return *m.Value
}
