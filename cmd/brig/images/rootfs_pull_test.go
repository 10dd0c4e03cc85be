package images

import "testing"

// Images from registries do not take the names of images of languages.
func TestNamesOfPulledImages(t *testing.T) {
	for reference, want := range map[string]string{
		"debian": "debian:latest", "debian:12": "debian:12", "ghcr.io/org/Tool:V1": "tool:v1", "localhost:5000/x": "x:latest",
		"localhost:5000/a/x:2":               "x:2",
		"python@sha256:0123456789abcdef0123": "python:0123456789ab", "org/x:1@sha256:0123456789abcdef": "x:1",
	} {
		if got := nameFor(reference); got != want {
			t.Errorf("%s is stored as %s; want %s", reference, got, want)
		}
	}
}
