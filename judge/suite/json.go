package suite

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// unittestCases reads the report of the runner in unittest.py.
func unittestCases(report []byte) ([]testCase, error) {
	var r struct {
		Cases []struct {
			ID      string `json:"id"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"cases"`
	}

	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("it is not the report of brig's runner of unittest: %w", err)
	}
	if len(r.Cases) > maxCases {
		return nil, errMany
	}

	var all []testCase
	for _, c := range r.Cases {
		all = append(all, testCase{c.ID, jsonStatus(c.Status), c.Message})
	}
	return all, nil
}

// jestCases reads what jest --json writes. A file that could not be run is a case that failed.
func jestCases(report []byte) ([]testCase, error) {
	var r struct {
		Results []struct {
			Name    string `json:"name"`
			Status  string `json:"status"`
			Message string `json:"message"`
			Cases   []struct {
				Name     string   `json:"fullName"`
				Status   string   `json:"status"`
				Messages []string `json:"failureMessages"`
			} `json:"assertionResults"`
		} `json:"testResults"`
	}

	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("it is not the JSON of jest: %w", err)
	}

	var all []testCase
	for _, file := range r.Results {
		if len(all)+len(file.Cases) >= maxCases {
			return nil, errMany
		}
		if len(file.Cases) == 0 && file.Status != "passed" {
			all = append(all, testCase{path.Base(file.Name), failed, file.Message})
		}
		for _, c := range file.Cases {
			all = append(all, testCase{c.Name, jsonStatus(c.Status), strings.Join(c.Messages, "\n")})
		}
	}

	return all, nil
}

func jsonStatus(s string) status {
	switch s {
	case "passed":
		return passed
	case "skipped", "pending", "todo", "disabled":
		return skipped
	}
	return failed
}
