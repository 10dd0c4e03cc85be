package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// A volume of the service belongs to a key and a project, and its name with the agent
// is made of both. No key's name has a slash, so that no project of one key is another
// key's (TestGatewayVolumes).
func volumesOf(owner string) string { return owner + "/" }

// nameVolume gives the volume that a session asks for its name. It is not the caller's
// to choose.
func nameVolume(ask *api.SessionRequest, c caller) error {
	if ask.Volume == nil {
		return nil
	}
	switch {
	case ask.Volume.Name != "":
		return api.Refuse(api.CodeBadRequest, "a volume has no name here: there is one for each project, so set labels.project")
	case ask.Labels.Project == "":
		return api.Refuse(api.CodeBadRequest, "a volume belongs to a project: set labels.project")
	}
	if err := api.VolumeName(ask.Labels.Project); err != nil { // it must be able to be named alone, to be removed
		return err
	}
	v := *ask.Volume
	v.Name = volumesOf(c.Name) + ask.Labels.Project
	ask.Volume = &v
	return nil
}

// makings let each key make one session with a volume at a time, so that two new ones
// cannot both find room. No key waits for another's, which may take long.
type makings struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // guarded by mu; by key: closed when it has been made
}

func (m *makings) begin(ctx context.Context, key string) (end func(), err error) {
	own := make(chan struct{})
	for {
		m.mu.Lock()
		other := m.busy[key]
		if other == nil {
			if m.busy == nil {
				m.busy = map[string]chan struct{}{}
			}
			m.busy[key] = own
		}
		m.mu.Unlock()
		if other == nil {
			return func() { m.end(key, own) }, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, api.Fail(api.CodeBusy, "another session of this key is being made with a volume, and takes long: send it again later")
		}
	}
}

func (m *makings) end(key string, own chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, key)
	close(own)
}

// makeSession has the agent make it.
func (g *Gateway) makeSession(ctx context.Context, ask api.SessionRequest, c caller) (api.Session, error) {
	if ask.Volume != nil && !ask.Volume.ReadOnly && (c.Volumes > 0 || g.cfg.Keys.several()) {
		end, err := g.makings.begin(ctx, c.Name)
		if err != nil {
			return api.Session{}, err
		}
		defer end()
		if err := g.roomForVolume(ctx, ask, c); err != nil {
			return api.Session{}, err
		}
	}
	s, err := g.cfg.Agent.CreateSession(ctx, ask)
	return shown(s), g.ownWords(err, c, ask.Labels.Project)
}

// ownWords is err with a volume's name as its owner knows it, its project, and with the id
// of a session only if that is his.
func (g *Gateway) ownWords(err error, c caller, project string) error {
	var e *api.Error
	if project == "" || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = strings.ReplaceAll(e.Message, strconv.Quote(volumesOf(c.Name)+project), strconv.Quote(project))
	if _, err := g.sessions.find(c.Name, e.Session); err != nil {
		told.Session = ""
	}
	return &told
}

func (g *Gateway) roomForVolume(ctx context.Context, ask api.SessionRequest, c caller) error {
	list, err := g.cfg.Agent.Volumes(ctx)
	if err != nil {
		return err
	}
	var own, all api.Size
	for _, v := range list {
		if v.Name == ask.Volume.Name {
			return nil
		}
		all += v.Size
		if strings.HasPrefix(v.Name, volumesOf(c.Name)) {
			own += v.Size
		}
	}
	health, _, _ := g.agent.get()
	return c.roomForVolume(own, all, cmp.Or(ask.Volume.Size, api.VolumeSize), api.Size(health.VolumesMax), g.cfg.Keys.several())
}

// shown is a session as its owner knows it.
func shown(s api.Session) api.Session {
	if s.Volume != nil {
		v := *s.Volume
		_, v.Name, _ = strings.Cut(v.Name, "/")
		s.Volume = &v
	}
	return s
}

// volumesFor lists a caller's volumes, by project.
func (g *Gateway) volumesFor(ctx context.Context, c caller) ([]api.Volume, error) {
	all, err := g.cfg.Agent.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	theirs := []api.Volume{}
	for _, v := range all {
		if project, is := strings.CutPrefix(v.Name, volumesOf(c.Name)); is {
			v.Name = project
			theirs = append(theirs, v)
		}
	}
	return theirs, nil
}

func (g *Gateway) getVolumes(w http.ResponseWriter, r *http.Request) error {
	all, err := g.volumesFor(r.Context(), callerOf(r.Context()))
	if err != nil {
		return err
	}
	g.reply(w, r, http.StatusOK, api.Page[api.Volume]{Items: all})
	return nil
}

func (g *Gateway) deleteVolume(w http.ResponseWriter, r *http.Request) error {
	c := callerOf(r.Context())
	if err := g.cfg.Agent.DeleteVolume(context.WithoutCancel(r.Context()), volumesOf(c.Name)+r.PathValue("project")); err != nil {
		return g.ownWords(err, c, r.PathValue("project"))
	}
	g.log.Info("volume removed", "key", c.Name, "project", r.PathValue("project"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ownFiles gives the files that a request means, of a session that is the caller's.
func (g *Gateway) ownFiles(r *http.Request) (client.Files, error) {
	id := r.PathValue("id")
	if _, err := g.sessions.find(callerOf(r.Context()).Name, id); err != nil {
		return client.Files{}, err
	}
	volume, err := flag(r.URL.Query(), "volume")
	if volume {
		return g.cfg.Agent.Workspace(id), err
	}
	return g.cfg.Agent.Box(id), err
}
