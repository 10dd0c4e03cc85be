package decode

import (
	"strings"
	"testing"
)

func TestJob(t *testing.T) {
	j, err := Job([]byte(`{"id": "a", "meta": {"Any Key": [null, {"B": null}]}, "language": "python", "source": "1", "tests": [{}, {"id": "x"}]}`))
	if err != nil || j.ID != "a" || j.Language != "python" || string(j.Meta) != `{"Any Key": [null, {"B": null}]}` {
		t.Fatalf("%+v (%v)", j, err)
	}
	if j.Tests[0].ID != "1" || j.Tests[1].ID != "x" {
		t.Errorf("the tests have the ids %q and %q", j.Tests[0].ID, j.Tests[1].ID)
	}

	for text, want := range map[string]string{
		`{"id": "a", "Language": "x"}`:           `unknown field "Language"`,
		`{"id": "a", "metadata": 1}`:             "metadata",
		`{"id": "a", "env": {"A": null}}`:        "null",
		`{"id": "a", "tests": [null]}`:           "null",
		`{"id": "a", "meta": 1, "meta": 2}`:      "twice",
		`{"id": "a", "language": 3}`:             "language",
		`{"id": "a", "source": "x"} {"id": "b"}`: "more data",
	} {
		j, err := Job([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if readable := !strings.Contains(want, "twice") && !strings.Contains(want, "more data"); (j.ID == "a") != readable {
			t.Errorf("%s: the id is %q", text, j.ID)
		}
	}
}
