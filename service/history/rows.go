package history

import (
	"encoding/json"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

var (
	runColumns = []string{"id", "owner", "project", "task", "language", "image", "verdict", "code", "message", "stage",
		"created", "queued", "wall", "cpu", "memory", "exit_code", "signal", "source_size", "stdout_truncated",
		"stderr_truncated", "cut", "summary", "dialect", "run", "problem", "batch", "job", "trial", "replaced_by"}
	bodyColumns = []string{"diagnosis", "detail", "findings", "stdout", "stderr", "request"}

	runRow  = append(append([]string{"seq"}, runColumns...), "weight")
	bodyRow = append([]string{"seq"}, bodyColumns...)

	allColumns = strings.Join(append(runRow[:len(runRow):len(runRow)], bodyColumns...), ", ")
)

// The SQL sources to read runs from.
var (
	mainTables = "runs LEFT JOIN bodies USING (seq)"
	allTables  = "(SELECT " + allColumns + " FROM " + mainTables + " UNION ALL SELECT " + allColumns + " FROM arrivals)"
)

func insert(table string, columns ...string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ")"
}

// runRowOf returns the values of runRow for the next run.
func (w *writer) runRowOf(r *api.Record) []any {
	return []any{w.next, r.ID, r.Owner, r.Project, r.Task, r.Language, r.Image,
		string(r.Verdict), string(r.Code), r.Message, string(r.Stage),
		r.Created.UnixNano(), r.Queued, r.Wall, r.CPU, r.Memory, r.ExitCode, r.Signal, r.SourceSize,
		r.StdoutTruncated, r.StderrTruncated, r.Cut, summaryOf(r), r.Dialect, r.Run,
		r.Problem, r.Batch, r.Job, r.Trial, r.ReplacedBy, weight(r)}
}

// passed is the SQL condition for a success: the program ended well and passed all of its tests, if
// it had any.
const passed = "(verdict = 'ok' AND (summary IS NULL OR summary ->> 'accepted' = summary ->> 'tests'))"

// summaryOf returns the summary as JSON, or NULL if there is none.
func summaryOf(r *api.Record) any {
	if r.Summary == nil {
		return nil
	}
	text, err := json.Marshal(r.Summary)
	if err != nil {
		panic(err) // impossible: a summary has only numbers and names
	}
	return string(text)
}

// bodyOf returns the values of bodyColumns.
func bodyOf(r *api.Record) []any {
	return []any{blob(r.Diagnosis), blob(r.Detail), blob(r.Findings), blob(r.Stdout), blob(r.Stderr),
		blob(r.Request)}
}

// blob turns empty content into NULL.
func blob[T ~[]byte](b T) any {
	if len(b) == 0 {
		return nil
	}
	return []byte(b)
}
