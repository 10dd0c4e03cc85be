package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// Each setting says where it is from, and none has a password.
func TestSettingsInForce(t *testing.T) {
	t.Setenv("BRIG_SERVE_WAIT", "7s")
	file := filepath.Join(t.TempDir(), "serve.yaml")
	if err := os.WriteFile(file, []byte("grace: 3s\nhost: [a.example]\npython-index: https://ann:secret@pypi.example/simple\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	f := serveFlags(t)
	if err := f.Parse([]string{"--queue=9", "--engine=tls://ben:secret@a:1,tls://ben:secret@b:2"}); err != nil {
		t.Fatal(err)
	}
	c := &cli.CLI{Env: os.Getenv}
	given := flagsGiven(f)
	if err := applySettings(c, f, "BRIG_SERVE_", nil, file); err != nil {
		t.Fatal(err)
	}

	got := map[string]api.Setting{}
	for _, s := range inForce(c, f, given) {
		got[s.Name] = s
		if strings.Contains(s.Value, "secret") {
			t.Errorf("%s has a password: %s", s.Name, s.Value)
		}
	}
	for name, want := range map[string][2]string{
		"queue": {"9", "flag"}, "wait": {"7s", "environment"}, "grace": {"3s", "file"}, "host": {"[a.example]", "file"},
		"conns": {"", ""}, "max-conns": {"4096", "default"}, "engine": {"tls://...@b:2", "flag"},
		"python-index": {"https://...@pypi.example/simple", "file"},
	} {
		if s := got[name]; s.Value != want[0] || s.From != want[1] {
			t.Errorf("%s is %q from %q; want %q", name, s.Value, s.From, want)
		}
	}
}

// brig doctor exits with 1 if a run could not be trusted, and that is an answer. Anything else that it prints is none.
func TestAnswersOfDoctor(t *testing.T) {
	for script, want := range map[string]bool{
		`echo '{"trusted":false,"unasked":["x"],"checks":[{"name":"a","status":"warn","found":"f","why":"w","cure":"c"}]}'; exit 1`: true,
		`echo broken`: false, `exit 3`: false, `echo why >&2; exit 2`: false,
	} {
		var words strings.Builder
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		cmd.Stderr = &words
		d, err := doctorOf(cmd, &words)
		if (err == nil) != want || want && (d.Trusted || d.Unknown[0] != "x" ||
			d.Checks[0] != api.HostCheck{Name: "a", Status: "warn", Found: "f", Why: "w", Cure: "c"}) {
			t.Errorf("%s: %+v, %v", script, d, err)
		}
		if strings.Contains(script, "why >&2") && !strings.Contains(err.Error(), "why") {
			t.Errorf("the error does not say why: %v", err)
		}
	}
}

// A worker whose image is another one than that of most is told.
func TestWorkersAsMachines(t *testing.T) {
	got := machinesOf([]jetstream.WorkerState{
		{Name: "a", Pool: "p", Slots: 4, InFlight: 2, Languages: map[string]string{"cpp": "1", "python": "1"}},
		{Name: "b", Pool: "p", Languages: map[string]string{"cpp": "1"}, Draining: true},
		{Name: "c", Pool: "p", Languages: map[string]string{"cpp": "2"}},
	})
	if len(got) != 3 || got[0].Slots != 4 || got[0].Running != 2 || !reflect.DeepEqual(got[0].Languages, []string{"cpp", "python"}) ||
		got[0].Differs != nil || got[1].State != api.MachineDraining || !reflect.DeepEqual(got[2].Differs, []string{"cpp"}) {
		t.Errorf("%+v", got)
	}
}

func TestCommandsThatStoreImages(t *testing.T) {
	for _, c := range [][3]string{{"python", "", "sudo brig rootfs build python"},
		{"x", "registry/x", "sudo brig rootfs pull registry/x --name x"}, {"x", "", "sudo brig rootfs import FILE --name x"}} {
		if got := imageCommand(c[0], c[1]); got != c[2] {
			t.Errorf("%q; want %q", got, c[2])
		}
	}
}
