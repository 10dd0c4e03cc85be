package harness

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// Expected is what a test expects of standard output.
func Expected(s string) *api.Bytes { b := api.Bytes(s); return &b }

// ManyTests is a job of n equal tests.
func ManyTests(n int, script string) api.Run {
	job := Sh(script)
	job.Limits.Memory = 64 * api.MiB
	for i := range n {
		job.Tests = append(job.Tests, api.Test{ID: fmt.Sprint(i)})
	}
	return job
}
