package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// timing says how patient a download is.
type timing struct {
	attempts int           // without progress, in a row
	pause    time.Duration // after the first failure; doubled after each further one
	longest  time.Duration // for which a registry may have us wait
	header   time.Duration // for the beginning of an answer
	document time.Duration // for a whole manifest or configuration, and for one attempt to log in
	login    time.Duration // for all attempts to log in
	stall    time.Duration // in which a blob must make progress of
	minimum  int64         // bytes; what an attempt adds to the most that was there before, to count as progress
}

var patient = timing{
	attempts: 5, pause: time.Second, longest: 2 * time.Minute, header: time.Minute, document: 2 * time.Minute,
	login: 5 * time.Minute, stall: 30 * time.Second, minimum: 64 << 10,
}

// A temporary error may be gone at the next attempt.
type temporary struct {
	err   error
	after time.Duration // what the registry asks us to wait; zero: it does not say
}

func (t *temporary) Error() string { return t.err.Error() }
func (t *temporary) Unwrap() error { return t.err }

// retry calls do until it succeeds, or fails for good.
func retry(ctx context.Context, t timing, do func() error) error {
	for failures := 1; ; failures++ {
		err := do()
		if err == nil {
			return nil
		}
		if err = await(ctx, t, failures, err); err != nil {
			return err
		}
	}
}

// await waits before the next attempt. It returns an error if there is to be none.
func await(ctx context.Context, t timing, failures int, err error) error {
	var again *temporary
	if !errors.As(err, &again) || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if failures >= t.attempts {
		return fmt.Errorf("%w, after %d attempts", err, failures)
	}

	pause := max(t.pause<<(failures-1), again.after)
	if pause > t.longest {
		return fmt.Errorf("%w: come again at %s, or log in", err, time.Now().Add(again.after).Format("15:04"))
	}

	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter reads the header, which has seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
