// Package jupyter answers as a Jupyter server does, as far as programs that execute code in its kernels ask: a kernel
// is one of brig, in a session of its own.
package jupyter

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// version is that of the Jupyter server whose answers are imitated.
const version = "2.15.0"

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:      dialect.Jupyter,
	Of:        "Jupyter Server " + version,
	Address:   "127.0.0.1:8888",
	TokenKeys: true,
	Routes: []dialect.Route{
		{Method: "GET", Path: "/api", Open: true, Plan: planVersion},
		{Method: "GET", Path: "/api/kernelspecs", Plan: planSpecs},
		{Method: "GET", Path: "/api/kernelspecs/{name}", Plan: planSpec},
		{Method: "GET", Path: "/api/kernels", Plan: planList},
		{Method: "POST", Path: "/api/kernels", AnyType: true, Plan: planStart},
		{Method: "GET", Path: "/api/kernels/{id}", Plan: plan(dialect.GetKernel)},
		{Method: "DELETE", Path: "/api/kernels/{id}", NoBody: true, Plan: plan(dialect.DeleteKernel)},
		{Method: "POST", Path: "/api/kernels/{id}/interrupt", NoBody: true, Plan: plan(dialect.InterruptKernel)},
		{Method: "POST", Path: "/api/kernels/{id}/restart", NoBody: true, Plan: plan(dialect.RestartKernel)},
		{Method: "GET", Path: "/api/kernels/{id}/channels", Plan: plan(dialect.KernelChannels)},
	},
	Fail: fail,
}

func answer(status int, v any) dialect.Response { return dialect.JSON(status, "application/json", v) }

// A message is the body of a request that failed.
type message struct {
	Message string  `json:"message"`
	Reason  *string `json:"reason"`
}

func fail(p *api.Problem, word dialect.Word) dialect.Response {
	status := word.Status
	if p.Status == 405 || p.Status == 426 {
		status = p.Status
	}
	if p.Code == api.CodeSessionEnded {
		status = 404
	}
	r := answer(status, message{Message: p.Detail})
	if status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}

func planVersion(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(answer(200, map[string]string{"version": version}))
}

// A spec is what a kernel is started by.
type spec struct {
	Name      string            `json:"name"`
	Spec      kernelSpec        `json:"spec"`
	Resources map[string]string `json:"resources"`
}

type kernelSpec struct {
	Argv      []string          `json:"argv"`
	Env       map[string]string `json:"env"`
	Display   string            `json:"display_name"`
	Language  string            `json:"language"`
	Interrupt string            `json:"interrupt_mode"`
	Metadata  map[string]string `json:"metadata"`
}

// kinds are the kernels that there are, the default first.
var kinds = []struct {
	name, display string
	language      api.KernelLanguage
}{
	{"python3", "Python 3 (brig)", api.KernelPython},
	{"javascript", "JavaScript (brig)", api.KernelJavaScript},
	{"bash", "Bash (brig)", api.KernelBash},
}

func specs(on dialect.Agent) map[string]spec {
	all := map[string]spec{}
	for _, k := range kinds {
		if _, ok := on.Find(string(k.language)); ok {
			all[k.name] = spec{k.name, kernelSpec{Argv: []string{}, Env: map[string]string{}, Display: k.display,
				Language: string(k.language), Interrupt: "signal", Metadata: map[string]string{}}, map[string]string{}}
		}
	}
	return all
}

func planSpecs(_ dialect.Request, on dialect.Agent) dialect.Plan {
	return dialect.Refuse(answer(200, map[string]any{"default": kinds[0].name, "kernelspecs": specs(on)}))
}

func planSpec(r dialect.Request, on dialect.Agent) dialect.Plan {
	s, ok := specs(on)[r.Path["name"]]
	if !ok {
		return dialect.Refuse(answer(404, message{Message: "there is no kernel " + quote(r.Path["name"])}))
	}
	return dialect.Refuse(answer(200, s))
}

func planList(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Plan{Kernels: &dialect.Kernels{Do: dialect.ListKernels, Tell: func(all []api.Kernel) dialect.Response {
		models := []model{}
		for _, k := range all {
			models = append(models, modelOf(k))
		}
		return answer(200, models)
	}}}
}

// start is the body of a request for a kernel.
type start struct {
	Name string            `json:"name"`
	Env  map[string]string `json:"env"`
}

// planStart starts a kernel. As a kernel gateway does, it takes no variables but those whose names begin with KERNEL_.
func planStart(r dialect.Request, on dialect.Agent) dialect.Plan {
	var ask start
	if len(strings.TrimSpace(string(r.Body))) > 0 {
		if err := json.Unmarshal(r.Body, &ask); err != nil {
			return dialect.Refuse(answer(400, message{Message: "the body is no JSON of a kernel, such as {\"name\": \"python3\"}"}))
		}
	}
	if ask.Name == "" {
		ask.Name = kinds[0].name
	}
	env := map[string]string{}
	for name, value := range ask.Env {
		if strings.HasPrefix(name, "KERNEL_") {
			env[name] = value
		}
	}
	if len(env) == 0 {
		env = nil
	}

	for _, k := range kinds {
		language, ok := on.Find(string(k.language))
		if k.name != ask.Name && string(k.language) != ask.Name || !ok {
			continue
		}
		return dialect.Plan{Kernels: &dialect.Kernels{Do: dialect.StartKernel,
			Start:   api.KernelRequest{Language: k.language, Env: env},
			Session: api.SessionRequest{Language: language.Name, Idle: idle},
			Tell: func(one []api.Kernel) dialect.Response {
				r := answer(201, modelOf(one[0]))
				r.Header["Location"] = "/api/kernels/" + uuid(one[0].ID)
				return r
			}}}
	}
	return dialect.Refuse(answer(404, message{Message: "there is no kernel " + quote(ask.Name) + ": see /api/kernelspecs"}))
}

// idle is how long the session of a kernel lives without a request: a person thinks for longer than a program.
const idle = api.Duration(30 * time.Minute)

// quote shortens a name of a client for a message.
func quote(name string) string {
	if len(name) > 80 {
		name = name[:80] + "..."
	}
	return "\"" + strings.ToValidUTF8(name, "?") + "\""
}

// plan does something with a kernel.
func plan(do dialect.KernelAction) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(r dialect.Request, _ dialect.Agent) dialect.Plan {
		return dialect.Plan{Kernels: &dialect.Kernels{Do: do, ID: idOf(r.Path["id"]), Tell: func(one []api.Kernel) dialect.Response {
			if do == dialect.DeleteKernel || do == dialect.InterruptKernel {
				return dialect.Response{Status: 204, Header: map[string]string{}}
			}
			return answer(200, modelOf(one[0]))
		}}}
	}
}

// A model describes a kernel.
type model struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Activity    string `json:"last_activity"`
	State       string `json:"execution_state"`
	Connections int    `json:"connections"`
}

func modelOf(k api.Kernel) model {
	m := model{ID: uuid(k.ID), Name: string(k.Language), Activity: k.Used.UTC().Format("2006-01-02T15:04:05.000000Z"), State: string(k.State)}
	for _, kind := range kinds {
		if kind.language == k.Language {
			m.Name = kind.name
		}
	}
	return m
}

// uuid is the id of a kernel in the form that Jupyter's own server wants in its paths: five parts.
func uuid(id string) string {
	if len(id) < 24 {
		return id
	}
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
}

// idOf is the id of a kernel in a path: as brig says it, or as uuid does.
func idOf(name string) string { return strings.ReplaceAll(name, "-", "") }
