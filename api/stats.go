package api

// Figures sum up runs. Wall times are of the runs with a verdict, in nanoseconds;
// a percentile is the nearest rank's, a time that some run really took.
type Figures struct {
	Runs    int64 `json:"runs" doc:"that were carried out, or failed"`
	Success int64 `json:"success" doc:"runs with verdict ok, and of tests every one accepted"`
	Failure int64 `json:"failure" doc:"runs judged otherwise"`
	Wrong   int64 `json:"wrong" doc:"of the failures, those with verdict ok: some test was not accepted"`
	Errors  int64 `json:"errors" doc:"failures of the service: the programs were not judged"`

	Verdicts map[Verdict]int64 `json:"verdicts" doc:"runs with each verdict, by its name"`

	Mean int64 `json:"wall_mean_ns" doc:"mean wall time of the runs with a verdict, in nanoseconds"`
	P50  int64 `json:"wall_p50_ns" doc:"wall time that half of them did not exceed, of some run, in nanoseconds"`
	P99  int64 `json:"wall_p99_ns" doc:"wall time that 99 of 100 did not exceed, of some run, in nanoseconds"`
}

// A Group is the figures of one language, project or task.
type Group struct {
	Name    string `json:"name" doc:"of the language, project or task; empty: the runs that named none"`
	Project string `json:"project,omitempty" doc:"that a task belongs to"`
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
