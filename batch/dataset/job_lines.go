package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"github.com/brig-sandbox/brig/api"
)

// A jobLine is a job of a data set on its way to the coordinator, or why there is none.
type jobLine struct {
	Job     *api.Job `json:"job,omitempty"`
	ID      string   `json:"id,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// WriteJobs writes the jobs of a data set for DecodeJob, a line for each.
func WriteJobs(to io.Writer, tasks io.Reader, format Format, o Options) error {
	w := bufio.NewWriterSize(to, 64<<10)
	e := json.NewEncoder(w)
	for job, err := range Read(tasks, format, o) {
		var wrong *LineError
		line := jobLine{Job: &job}
		switch {
		case errors.As(err, &wrong):
			line = jobLine{ID: job.ID, Refused: wrong.Error()}
		case err != nil:
			return err
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}

	return w.Flush()
}

// DecodeJob is batch.Coordinator.Decode of such lines.
func DecodeJob(text []byte) (api.Job, error) {
	var line jobLine
	if err := json.Unmarshal(text, &line); err != nil {
		return api.Job{}, err
	}
	if line.Job == nil {
		return api.Job{ID: line.ID}, api.Refuse(api.CodeBadRequest, "%s", line.Refused)
	}
	return *line.Job, nil
}
