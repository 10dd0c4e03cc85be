package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
)

// LabelFlag registers --label.
func LabelFlag(f *pflag.FlagSet, labels *[]string) {
	f.StringArrayVar(labels, "label", nil, "store this label: `project=NAME`, task=NAME or run=NAME "+
		"(repeatable; default of run: $BRIG_RUN, or the job of Slurm)")
}

// Labels are what --label says. A run that it leaves out comes from the environment: run= means none.
func (c *CLI) Labels(given []string) (l api.Labels, err error) {
	hasRun := false
	for _, kv := range given {
		switch k, v, _ := strings.Cut(kv, "="); k {
		case "project":
			l.Project = v
		case "task":
			l.Task = v
		case "run":
			l.Run, hasRun = v, true
		default:
			return l, fmt.Errorf("--label %q: write project=NAME, task=NAME or run=NAME", kv)
		}
	}

	from := ""
	if !hasRun {
		l.Run, from = RunLabel(c.Env)
	}
	if err := l.Validate(); err != nil && from != "" {
		return l, fmt.Errorf("$%s: %w, or set --label run=NAME", from, err)
	}
	return l, nil
}

// RunLabel is the run that the environment says, and the variable that says it; empty: none does. A job of Slurm has
// the id that squeue and scancel know. That of a task of an array has the array's id and the task's; all steps of a
// job have that of the job, which is what dies.
func RunLabel(env func(string) string) (run, variable string) {
	if run = env("BRIG_RUN"); run != "" {
		return run, "BRIG_RUN"
	}
	array, task := env("SLURM_ARRAY_JOB_ID"), env("SLURM_ARRAY_TASK_ID")
	if array != "" && task != "" {
		return array + "_" + task, "SLURM_ARRAY_JOB_ID"
	}
	if run = env("SLURM_JOB_ID"); run != "" {
		return run, "SLURM_JOB_ID"
	}
	return "", ""
}
