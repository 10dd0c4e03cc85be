package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A progress tells the client of a call how far it is. Each number must be greater than that before. nil: the client did
// not ask.
type progress func(done, total int, message string)

// progressOf makes the progress of a call.
func progressOf(ctx context.Context, req *sdk.CallToolRequest) progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(done, total int, message string) {
		// A client that has left needs no progress, and ends ctx.
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(done),
			Total: float64(total), Message: message})
	}
}

// notices is the most notices of one call: more tests are told of together.
const notices = 100

// watchTests tells how many of a number of tests have ended.
func (p progress) watchTests(total int) Watch {
	if p == nil {
		return Watch{}
	}

	p(0, total, "waits for a slot")
	ended, step := 0, max(1, total/notices)
	return Watch{Tested: func() {
		if ended++; ended%step == 0 || ended == total {
			p(ended, total, "tests have ended")
		}
	}}
}

// watchProgram tells when a program begins.
func (p progress) watchProgram() Watch {
	if p == nil {
		return Watch{}
	}

	p(0, 0, "waits for a slot")
	return Watch{Started: sync.OnceFunc(func() { p(1, 0, "the program has a slot") })}
}
