package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/dataset"
)

// A datasetLine is a job of a data set on its way to the coordinator, or why there is none.
type datasetLine struct {
	Job     *api.Job `json:"job,omitempty"`
	ID      string   `json:"id,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// jobsOf has a goroutine write the jobs of a data set, a line for each. It waits until they are read. stop ends
// and joins it, and closes the file of completions.
func (c *cli) jobsOf(o datasetOptions, tasks io.Reader) (lines io.Reader, stop func(), err error) {
	closeCompletions := func() {}
	if o.completions != "" {
		in, err := c.openInput(o.completions)
		if err != nil {
			return nil, nil, fmt.Errorf("--completions: %w", err)
		}
		o.read.Completions, closeCompletions = in, func() { in.Close() } //nolint:errcheck // it was only read
	}

	r, w := io.Pipe()
	var writer sync.WaitGroup
	writer.Go(func() { w.CloseWithError(writeDatasetLines(o, tasks, w)) })
	return r, func() {
		r.Close() //nolint:errcheck // it returns nil always
		writer.Wait()
		closeCompletions()
	}, nil
}

func writeDatasetLines(o datasetOptions, tasks io.Reader, to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	e := json.NewEncoder(w)
	for job, err := range dataset.Read(tasks, dataset.Format(o.from), o.read) {
		var wrong *dataset.LineError
		line := datasetLine{Job: &job}
		switch {
		case errors.As(err, &wrong):
			line = datasetLine{ID: job.ID, Refused: wrong.Error()}
		case err != nil:
			return err
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}

	return w.Flush()
}

// decodeDatasetLine is batch.Coordinator.Decode of such lines.
func decodeDatasetLine(text []byte) (api.Job, error) {
	var line datasetLine
	if err := json.Unmarshal(text, &line); err != nil {
		return api.Job{}, err
	}
	if line.Job == nil {
		return api.Job{ID: line.ID}, api.Refuse(api.CodeBadRequest, "%s", line.Refused)
	}
	return *line.Job, nil
}
