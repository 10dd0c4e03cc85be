package openapitest

import "testing"

func TestAnswers(t *testing.T) {
	d, err := Parse([]byte(`{"paths":{"/runs":{"post":{"responses":{"200":{},"default":{}}}},"/runs/{id}":{"get":{"responses":{"200":{},"404":{}}}},
		"/s/{id}/files":{"get":{"responses":{"200":{}}}},"/s/{id}/files/{name}":{"get":{"responses":{"200":{},"410":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path string
		status       int
		right        bool
	}{
		{"POST", "/runs?wait=false", 200, true},
		{"POST", "/runs", 202, false},
		{"GET", "/runs", 405, true}, // not described at all
		{"GET", "/runs/x", 404, true},
		{"GET", "/runs/x", 503, false},
		{"GET", "/runs/x/y", 503, true},
		{"GET", "/s/1/files", 410, false},
		{"GET", "/s/1/files/a/b", 410, true},
		{"GET", "/s/1/files/a/b", 404, false},
	} {
		if err := d.Answers(tt.method, tt.path, tt.status); (err == nil) != tt.right {
			t.Errorf("%s %s %d: %v", tt.method, tt.path, tt.status, err)
		}
	}
}
