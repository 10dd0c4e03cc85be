// Package rollback undoes the steps of a function that fails halfway.
package rollback

import "errors"

// Steps are the functions that undo what a function has done so far. Deferred, Run calls them in
// reverse order if the function returns an error, and joins their errors to it.
type Steps struct {
	err   *error
	steps []func() error
}

// On returns Steps for a function with this error result.
func On(err *error) *Steps { return &Steps{err: err} }

// Add adds a step.
func (s *Steps) Add(step func() error) { s.steps = append(s.steps, step) }

// Release keeps what was built.
func (s *Steps) Release() { s.steps = nil }

// Run undoes everything if the function failed.
func (s *Steps) Run() {
	if *s.err == nil {
		return
	}
	for i := len(s.steps) - 1; i >= 0; i-- {
		*s.err = errors.Join(*s.err, s.steps[i]())
	}
}
