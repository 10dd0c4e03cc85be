package sessions

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// volumePrefix returns the prefix of the agent's names for an owner's volumes. A volume of the service
// belongs to a key and a project, and its name in the agent consists of both. No key's name
// contains a slash, so no project of one key is another key's (TestGatewayVolumes).
func volumePrefix(owner string) string { return owner + "/" }

// nameVolume sets the name of the volume that a session requests. The caller cannot choose it.
func nameVolume(ask *api.SessionRequest, c core.Caller) error {
	if ask.Volume == nil {
		return nil
	}

	switch {
	case ask.Volume.Name != "":
		return api.Refuse(api.CodeBadRequest,
			"volume.name cannot be set here: each project has one volume, so set labels.project instead")
	case ask.Labels.Project == "":
		return api.Refuse(api.CodeBadRequest, "a volume belongs to a project: set labels.project")
	}

	if err := api.VolumeName(ask.Labels.Project); err != nil { // the project must be a valid name by itself, so that the volume can be removed
		return err
	}

	v := *ask.Volume
	v.Name = volumePrefix(c.Name) + ask.Labels.Project
	ask.Volume = &v
	return nil
}

// makeSession has the agent create the session, which waits for room until wait ends.
func (ss *Sessions) makeSession(ctx, wait context.Context, ask api.SessionRequest,
	c core.Caller) (api.Session, error) {
	if ask.Volume != nil && !ask.Volume.ReadOnly && (c.Volumes > 0 || ss.Config.Keys.Multiple()) {
		// One at a time for each key, so that two concurrent requests cannot both pass the quota
		// check. No key waits for another one's session, which may take long.
		if err := ss.pendingVolumes.Acquire(wait, c.Name, 1, 0); err != nil {
			return api.Session{},
				api.Fail(api.CodeBusy,
					"another session of this key with a volume is being created and takes long: send the request again later")
		}
		defer ss.pendingVolumes.Release(c.Name, 1)
		if err := ss.checkVolumeQuota(ctx, ask, c); err != nil {
			return api.Session{}, err
		}
	}

	s, err := ss.askAgent(ctx, wait, ask)
	return ownersView(s), ss.withOwnNames(err, c, ask.Labels.Project)
}

// withOwnNames returns err with a volume's name as its owner knows it, which is the project, and with
// the id of a session only if the session belongs to the caller.
func (ss *Sessions) withOwnNames(err error, c core.Caller, project string) error {
	var e *api.Error
	if project == "" || !errors.As(err, &e) {
		return err
	}
	changed := *e
	changed.Message = strings.ReplaceAll(e.Message, strconv.Quote(volumePrefix(c.Name)+project), strconv.Quote(project))
	if _, err := ss.registry.find(c.Name, e.Session); err != nil {
		changed.Session = ""
	}
	return &changed
}

func (ss *Sessions) checkVolumeQuota(ctx context.Context, ask api.SessionRequest, c core.Caller) error {
	list, err := ss.Config.Agent.Volumes(ctx)
	if err != nil {
		return err
	}

	var own, all api.Size
	for _, v := range list {
		if v.Name == ask.Volume.Name && v.Run == ask.VolumeRun() {
			return nil
		}
		all += v.Size
		if strings.HasPrefix(v.Name, volumePrefix(c.Name)) {
			own += v.Size
		}
	}

	health, _, _ := ss.Agent.Get()
	return checkVolumeQuota(c, own, all, cmp.Or(ask.Volume.Size, api.VolumeSize),
		api.Size(health.VolumesMax), ss.Config.Keys.Multiple())
}

// ownersView returns a session as its owner knows it.
func ownersView(s api.Session) api.Session {
	if s.Volume != nil {
		v := *s.Volume
		_, v.Name, _ = strings.Cut(v.Name, "/")
		s.Volume = &v
	}
	return s
}

// volumesOf returns an owner's volumes, by project.
func (ss *Sessions) volumesOf(ctx context.Context, owner string) ([]api.Volume, error) {
	all, err := ss.Config.Agent.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	theirs := []api.Volume{}
	for _, v := range all {
		if project, is := strings.CutPrefix(v.Name, volumePrefix(owner)); is {
			v.Name = project
			theirs = append(theirs, v)
		}
	}
	return theirs, nil
}

func (ss *Sessions) getVolumes(w http.ResponseWriter, r *http.Request) error {
	all, err := ss.volumesOf(r.Context(), core.CallerOf(r.Context()).Name)
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, api.Page[api.Volume]{Items: all})
	return nil
}

func (ss *Sessions) deleteVolume(w http.ResponseWriter, r *http.Request) error {
	c, project, run := core.CallerOf(r.Context()), r.PathValue("project"), r.URL.Query().Get("run")
	ctx, remove := context.WithoutCancel(r.Context()), ss.Config.Agent.DeleteVolume
	if run != "" {
		remove = func(ctx context.Context, name string) error {
			return ss.Config.Agent.DeleteTemporaryVolume(ctx, name, run)
		}
	}
	if err := remove(ctx, volumePrefix(c.Name)+project); err != nil {
		return ss.withOwnNames(err, c, project)
	}
	ss.Log.Info("volume removed", "key", c.Name, "project", project, "run_label", run)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ownFiles returns the file area that a request addresses, of a session that belongs to the caller.
func (ss *Sessions) ownFiles(r *http.Request) (client.Files, error) {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return client.Files{}, err
	}
	volume, err := core.Flag(r.URL.Query(), "volume")
	if volume {
		return ss.Config.Agent.Workspace(id), err
	}
	return ss.Config.Agent.Box(id), err
}
