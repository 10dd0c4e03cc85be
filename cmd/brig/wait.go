package main

import (
	"context"
	"errors"
	"fmt"
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

// whenFree tries until the agent takes the run or wait is over. An agent does not
// queue: it refuses before it has read any input, so trying again is safe.
func (c *console) whenFree(ctx context.Context, wait time.Duration, try func() (api.Result, error)) (api.Result, error) {
	start, told := time.Now(), false
	for pause := waitFirst; ; pause = min(2*pause, waitMost) {
		res, err := try()
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded || time.Since(start)+pause > wait {
			return res, err
		}
		if !told && time.Since(start) > waitTell {
			told = true
			fmt.Fprintf(c.stderr, "brig: every slot is busy; waiting up to %s (--wait)\n", wait)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return api.Result{}, context.Cause(ctx)
		}
	}
}
