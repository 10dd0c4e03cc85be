package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// endWait is how long an end waits for what it ends.
const endWait = time.Minute

// postEnd ends all that a key has with a label. Batches come first, so that they begin no further job, and volumes
// last, when no session has them. If a part fails, the others are ended all the same: the request can be sent
// again. It goes on when the client leaves, such as the last command of a job that is being killed.
func (g *Gateway) postEnd(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := g.core.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.EndRequest](g.core, r.Context(), raw, "request")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	c := core.CallerOf(r.Context())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), endWait)
	defer cancel()

	var ended api.Ended
	var berr, serr error
	ended.Batches, berr = g.batches.End(ctx, c.Name, ask)
	ended.Runs = g.runs.End(ctx, c.Name, ask)
	ended.Sessions, ended.Volumes, serr = g.sessions.End(ctx, c, ask)
	g.core.Log.Info("run ended", "run_label", ask.Run, "key", c.Name, "project", ask.Project, "runs", ended.Runs,
		"sessions", ended.Sessions, "batches", ended.Batches, "volumes", ended.Volumes)
	if err := errors.Join(berr, serr); err != nil {
		return err
	}

	subject := "run=" + ask.Run
	if ask.Project != "" {
		subject += " project=" + ask.Project
	}
	g.core.KeepAudit(ctx, api.AuditEntry{Time: time.Now().UTC(), By: c.Name, Action: api.AuditLabelEnded, Subject: subject})
	g.core.Reply(w, r, http.StatusOK, ended)
	return nil
}
