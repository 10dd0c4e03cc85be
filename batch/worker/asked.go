package worker

import (
	"context"

	"github.com/brig-sandbox/brig/api"
)

// An Asked is what a job asks for, before its problem has completed it.
type Asked struct {
	Job string // its id
	api.RunRequest
}

type askedKey struct{}

func withAsked(ctx context.Context, j api.Job, own api.Run) context.Context {
	return context.WithValue(ctx, askedKey{}, Asked{Job: j.ID, RunRequest: api.RunRequest{Problem: j.Problem, Run: own}})
}

// AskedOf returns the job that a call of Worker.Execute executes, from its context; the zero value outside of one.
func AskedOf(ctx context.Context) Asked {
	a, _ := ctx.Value(askedKey{}).(Asked)
	return a
}
