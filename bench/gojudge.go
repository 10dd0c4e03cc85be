package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// goJudge runs the program through a go-judge's REST interface.
func goJudge(ctx context.Context, url, program string, count int) (sample, error) {
	body := fmt.Appendf(nil, `{"cmd":[{"args":[%q],"env":["PATH=/usr/bin:/bin"],"files":[{"content":""},{"name":"stdout","max":10240},{"name":"stderr","max":10240}],"cpuLimit":10000000000,"memoryLimit":104857600,"procLimit":50}]}`, program)
	var s sample
	start := time.Now()
	for range count {
		t := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/run", bytes.NewReader(body))
		if err != nil {
			return s, err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return s, err
		}
		var out []struct {
			Status string `json:"status"`
		}
		err = json.NewDecoder(res.Body).Decode(&out)
		res.Body.Close()
		if err != nil || len(out) != 1 || out[0].Status != "Accepted" {
			return s, fmt.Errorf("go-judge: status %+v, %w", out, err)
		}
		s.took = append(s.took, time.Since(t))
	}
	s.wall = time.Since(start)
	return s, nil
}
