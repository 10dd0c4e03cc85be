package kubernetes

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// planPods lists sessions. What would leave some of them out, or report changes, is refused and not passed over.
func planPods(r dialect.Request, _ dialect.Agent) dialect.Plan {
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		if values := r.Query[name]; len(values) > 0 && values[0] != "" {
			return refuse("brig selects no sessions by " + name + ": name a project with -n PROJECT, or a session by its id")
		}
	}
	if watch := r.Query["watch"]; len(watch) > 0 && watch[0] != "false" && watch[0] != "0" {
		return refuse("brig reports no changes of sessions (watch): ask again, without -w")
	}

	return dialect.Plan{Sessions: &dialect.Sessions{Project: projectOf(r), Tell: func(all []api.Session) dialect.Response {
		if wantsTable(r) {
			return respond(200, tableOf(all))
		}
		list := podList{kind: kindOf("PodList", "v1"), Items: []pod{}}
		for _, s := range all {
			list.Items = append(list.Items, podOf(s))
		}
		return respond(200, list)
	}}}
}

func planPod(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return dialect.Plan{Sessions: &dialect.Sessions{Project: projectOf(r), Name: r.Path["name"],
		Tell: func(one []api.Session) dialect.Response {
			if wantsTable(r) {
				return respond(200, tableOf(one))
			}
			return respond(200, podOf(one[0]))
		}}}
}

// wantsTable reports whether the client prints a table that the server makes, as kubectl get does without -o.
func wantsTable(r dialect.Request) bool { return strings.Contains(r.Accept, "as=Table") }

// metadataOf is a session's. The name is its id, which is the same in every namespace.
func metadataOf(s api.Session) metadata {
	labels := map[string]string{}
	for name, value := range map[string]string{"project": s.Labels.Project, "task": s.Labels.Task, "run": s.Labels.Run} {
		if value != "" {
			labels[name] = value
		}
	}
	return metadata{Name: s.ID, Namespace: namespaceOf(s), UID: s.ID, Created: s.Created, Labels: labels}
}

func podOf(s api.Session) pod {
	p := pod{kind: kindOf("Pod", "v1"), Metadata: metadataOf(s),
		Spec: podSpec{Containers: []container{{box, s.Image}}, RestartPolicy: "Never"}}

	running := containerStatus{Name: box, Ready: true, Image: s.Image, ImageID: s.Image}
	running.State.Running.Started = s.Created
	p.Status = podStatus{Phase: "Running", Started: s.Created, Running: []containerStatus{running}}
	return p
}

// box is the name of the container of a session.
const box = "box"

func tableOf(all []api.Session) table {
	t := table{kind: kindOf("Table", "meta.k8s.io/v1"), Rows: []row{}, Columns: []column{
		{Name: "Name", Type: "string", Format: "name", Description: "the id of the session"},
		{Name: "Status", Type: "string", Description: "idle, or running while it executes something"},
		{Name: "Language", Type: "string", Description: "the language of the session"},
		{Name: "Project", Type: "string", Description: "the label project"},
		{Name: "Task", Type: "string", Description: "the label task, which is a name, too, in the namespace of the project"},
		{Name: "Ends", Type: "string", Description: "when it ends in any case"},
		{Name: "Created", Type: "string", Description: "when it was created", Priority: 1},
		{Name: "Image", Type: "string", Description: "the digest of the image", Priority: 1},
	}}
	seconds := func(at string) string { // 2026-11-30T12:53:15.99466369Z has more than a person reads
		whole, _, fraction := strings.Cut(at, ".")
		if fraction {
			whole += "Z"
		}
		return whole
	}
	for _, s := range all {
		t.Rows = append(t.Rows, row{
			Cells:  []any{s.ID, s.State, s.Language, s.Labels.Project, s.Labels.Task, seconds(s.Ends), seconds(s.Created), s.Image},
			Object: rowObject{kindOf("PartialObjectMetadata", "meta.k8s.io/v1"), metadataOf(s)},
		})
	}
	return t
}
