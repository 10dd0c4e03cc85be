package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What clients of go-judge may read has nothing of what the service keeps for itself, wherever links lead.
func TestGoJudgeSrcHasNothingOfTheService(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	for _, name := range []string{"data/runs", "etc", "cases", "cases-old"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked": "data", "all": "."} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}

	usual := serveOptions{dialects: []string{"go-judge=127.0.0.1:5050"}, goJudgeSrc: at("cases"), dataDir: at("data"),
		keys: at("etc/keys"), key: at("etc/key.pem")}
	for _, tt := range []struct {
		name   string
		change func(*serveOptions)
		says   string // empty: it is accepted
	}{
		{"a folder of its own", func(*serveOptions) {}, ""},
		{"none", func(o *serveOptions) { o.goJudgeSrc, o.dialects = "", nil }, ""},
		{"below /go-judge/", func(o *serveOptions) { o.dialects = []string{"piston", "go-judge"} }, ""},
		{"no go-judge", func(o *serveOptions) { o.dialects = []string{"piston"} }, "add --dialect go-judge"},
		{"a name that only begins alike", func(o *serveOptions) { o.dataDir = at("cases-old") }, ""},
		{"the data", func(o *serveOptions) { o.goJudgeSrc = at("data") }, "--data-dir"},
		{"above the data", func(o *serveOptions) { o.goJudgeSrc = top }, "--data-dir"},
		{"in the data", func(o *serveOptions) { o.goJudgeSrc = at("data/runs") }, "--data-dir"},
		{"all", func(o *serveOptions) { o.goJudgeSrc = "/" }, "--data-dir"},
		{"data that is not there yet", func(o *serveOptions) { o.dataDir = at("cases/new/data") }, "--data-dir"},
		{"a link to the data", func(o *serveOptions) { o.goJudgeSrc = at("linked/runs") }, "--data-dir"},
		{"a link above the data", func(o *serveOptions) { o.dataDir, o.goJudgeSrc = at("all/data"), top }, "--data-dir"},
		{"the keys", func(o *serveOptions) { o.goJudgeSrc = at("etc") }, "--keys"},
		{"the private key", func(o *serveOptions) { o.keys, o.goJudgeSrc = "", at("etc") }, "--tls-key"},
		{"no keys", func(o *serveOptions) { o.keys, o.key = "", "" }, ""},
	} {
		o := usual
		tt.change(&o)
		_, _, err := o.findDialects()
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
		}
	}
}
