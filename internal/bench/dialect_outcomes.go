package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A pairTook is how long a request of a dialect took, and the one of brig's own API next to it, or what each used.
type pairTook struct{ own, foreign time.Duration }

// An added is what pairs show, in ms.
type added struct {
	own, foreign float64 // medians
	more         float64 // median of the differences in a pair: what the host does otherwise happens to both
}

// whatIsAdded tells what a dialect adds. There must be a pair.
func whatIsAdded(took []pairTook) added {
	var own, foreign, more []float64
	for _, p := range took {
		own = append(own, inMs(p.own))
		foreign = append(foreign, inMs(p.foreign))
		more = append(more, inMs(p.foreign-p.own))
	}
	return added{median(own), median(foreign), median(more)}
}

func inMs(d time.Duration) float64 { return d.Seconds() * 1e3 }

// sameProgram checks that runs of a dialect and runs of brig's own API had the same language and image: Python with
// libraries and without differ by more than what a dialect adds.
func sameProgram(all []api.Record) error {
	own := slices.IndexFunc(all, func(r api.Record) bool { return r.Dialect == "" })
	foreign := slices.IndexFunc(all, func(r api.Record) bool { return r.Dialect != "" })
	if own < 0 || foreign < 0 {
		return fmt.Errorf("the %d runs in the history are all of one kind", len(all))
	}

	want := all[own]
	for _, r := range all {
		if r.Language != want.Language || r.Image != want.Image {
			return fmt.Errorf("the dialect %q runs %q from image %.20s, brig's API %q from %.20s: they are not comparable",
				cmp.Or(r.Dialect, all[foreign].Dialect), r.Language, r.Image, want.Language, want.Image)
		}
	}
	return nil
}

// A callerTook is what came of the calls of one client.
type callerTook struct {
	took  []float64 // ms, of calls with a result
	lost  int       // calls without one
	first error     // of the first of them
}

// add counts a call.
func (c *callerTook) add(took time.Duration, err error) {
	if err == nil {
		c.took = append(c.took, inMs(took))
		return
	}
	c.lost++
	if c.first == nil {
		c.first = err
	}
}

// together adds up what came of the calls of all clients. first has the first error of each client.
func together(all []callerTook) (sum callerTook) {
	var first []error
	for _, c := range all {
		sum.took = append(sum.took, c.took...)
		sum.lost += c.lost
		first = append(first, c.first)
	}
	slices.Sort(sum.took)
	sum.first = errors.Join(first...)
	return sum
}

// quantile is a quantile of the calls with a result, of which there must be one, once they are sorted.
func (c callerTook) quantile(q float64) float64 {
	return c.took[min(int(q*float64(len(c.took))), len(c.took)-1)]
}
