package main

import (
	"context"
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The pauses between two tries while every slot is busy, and after how long a
// person is told.
const (
	waitFirst = 5 * time.Millisecond
	waitMost  = 100 * time.Millisecond
	waitTell  = time.Second
)

// whenFree tries until the agent takes what is asked of it or wait is over. An agent
// does not queue: it refuses before it has read any input, so trying again is safe.
func whenFree[T any](ctx context.Context, c *console, wait time.Duration, try func() (T, error)) (T, error) {
	start, told := time.Now(), false
	for pause := waitFirst; ; pause = min(2*pause, waitMost) {
		res, err := try()
		why := inTheWay(err)
		if why == "" || time.Since(start)+pause > wait {
			return res, err
		}
		if !told && time.Since(start) > waitTell {
			told = true
			c.note("%s; waiting up to %s (--wait)", why, wait)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}

// inTheWay says what others have that will come back; empty: nothing to wait for.
func inTheWay(err error) string {
	var e *api.Error
	switch {
	case !errors.As(err, &e):
		return ""
	case e.Code == api.CodeBusy:
		return "every slot is busy"
	case e.Code == api.CodeOverloaded:
		return "the memory is promised to others"
	}
	return ""
}
