package api

// Figures are statistics of runs. Wall times are of the runs with a verdict, in nanoseconds. A
// percentile is the nearest rank's: a time that some run really took.
type Figures struct {
	Runs    int64 `json:"runs" doc:"runs that were executed or failed"`
	Success int64 `json:"success" doc:"runs with verdict ok and, if they had tests, with every test accepted"`
	Failure int64 `json:"failure" doc:"runs with a verdict that did not succeed"`
	Wrong   int64 `json:"wrong" doc:"failures with verdict ok: a test was not accepted"`
	Errors  int64 `json:"errors" doc:"failures of the service: the programs were not judged"`

	Verdicts map[Verdict]int64 `json:"verdicts" doc:"runs with each verdict, by its name"`

	Mean int64 `json:"wall_mean_ns" doc:"mean wall time of the runs with a verdict, in nanoseconds"`
	P50  int64 `json:"wall_p50_ns" doc:"median wall time (of an actual run), in nanoseconds"`
	P99  int64 `json:"wall_p99_ns" doc:"99th percentile of the wall time (of an actual run), in nanoseconds"`
}

// A Group is the figures of one language, project or task.
type Group struct {
	Name    string `json:"name" doc:"name of the language, project or task; empty: the runs without one"`
	Project string `json:"project,omitempty" doc:"project of the task"`
	Figures
}

// Stats are figures of all runs and of each group of them, the largest groups first.
type Stats struct {
	Figures
	Languages []Group `json:"languages" doc:"by language, the largest first"`
	Projects  []Group `json:"projects" doc:"by project, the largest first"`
	Tasks     []Group `json:"tasks" doc:"by project and task, the largest first"`
	More      bool    `json:"more,omitempty" doc:"there are more groups of a kind than the 1000 listed"`
}
