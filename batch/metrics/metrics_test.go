package metrics

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	left := 7.0
	at, stop, err := Serve("127.0.0.1:0", func() []Figure {
		return []Figure{{Name: "brig_batch_jobs_left", Help: "Jobs.", Value: left},
			{Name: "brig_jobs_total", Help: "Ended.", Status: "done", Value: 3, Counter: true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	get := func() string {
		res, err := http.Get("http://" + at.String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := get(); !strings.Contains(text, "\nbrig_batch_jobs_left 7\n") ||
		!strings.Contains(text, "# TYPE brig_jobs_total counter\nbrig_jobs_total{status=\"done\"} 3\n") {
		t.Errorf("%s", text)
	}

	left = 6
	if text := get(); !strings.Contains(text, "\nbrig_batch_jobs_left 6\n") {
		t.Errorf("the second time: %s", text)
	}
	if _, _, err := Serve(at.String(), nil); err == nil {
		t.Error("two servers have one address")
	}
}
