// Package verify finds out whether a problem package is right, by running all its programs.
package verify

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
)

// DefaultLongest is the processor time of a test of a jury submission while the time limit is not known:
// about half of what an agent allows whose operator has set no other ceiling, because a program may also
// wait.
const DefaultLongest = api.Duration(14 * time.Second)

// Longest is DefaultLongest, or what an agent with this ceiling allows if that is less. The wall limit is a second
// above it.
func Longest(ceiling api.Limits) api.Duration {
	longest := DefaultLongest
	if ceiling.CPU > 0 {
		longest = min(longest, ceiling.CPU)
	}
	if ceiling.Wall > 0 {
		longest = min(longest, max(ceiling.Wall-wait, ceiling.Wall/2))
	}
	return longest
}

// MaxRepeats is how often each submission is run at most.
const MaxRepeats = 100

// Options say how a package is verified.
type Options struct {
	Longest  api.Duration // processor time of a test while the time limit is not known; zero: that of Longest
	Ceiling  api.Limits   // most that the agent lets a run request, as far as it is known
	Repeat   int          // how often each submission is run, and compared
	Progress Progress     // nil: nobody sees it
}

// An Executor executes the programs of a package.
type Executor interface {
	// Language returns a language that programs can be run in. An error says why there is none.
	Language(ctx context.Context, name string) (api.Language, error)
	// Execute executes a run, and calls test, unless it is nil, after each of its tests.
	Execute(ctx context.Context, r api.Run, test func()) (api.Result, *api.Error)
}

// A verifier verifies one package.
type verifier struct {
	api.Verification
	x      Executor
	o      Options
	loader grade.Loader
	common api.Run
}

// Package verifies the package of a loader. common is what its Common returned. An error means that brig
// failed, and says nothing about the package.
func Package(ctx context.Context, x Executor, l grade.Loader, common api.Run, o Options) (api.Verification, error) {
	p := l.Problem
	o.Longest = cmp.Or(o.Longest, Longest(o.Ceiling))
	v := &verifier{x: x, o: o, loader: l, common: common,
		Verification: api.Verification{Problem: p.Name, Format: p.Format, Mistakes: []string{}, Warnings: []string{},
			NotRun: []string{}, Submissions: []api.VerifiedSubmission{}}}
	for _, f := range p.Warnings {
		v.warn("%s", f)
	}

	for _, step := range []func(context.Context) error{v.inputs, v.outputs, v.jury} {
		if err := step(ctx); err != nil {
			return api.Verification{}, err
		}
	}

	v.OK = len(v.Mistakes) == 0
	return v.Verification, nil
}

func (v *verifier) mistake(format string, args ...any) {
	v.Mistakes = append(v.Mistakes, fmt.Sprintf(format, args...))
}

func (v *verifier) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

func (v *verifier) notRun(format string, args ...any) {
	v.NotRun = append(v.NotRun, fmt.Sprintf(format, args...))
}
