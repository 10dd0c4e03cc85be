package calibrate

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// runs are times of all kernels, so many times those of the reference machine.
func runs(factor float64) map[string][]api.Duration {
	all := map[string][]api.Duration{}
	for _, k := range Kernels() {
		one := api.Duration(float64(k.Reference) * factor)
		all[k.Name] = []api.Duration{one + one/50, one, one - one/50, one, one + one/30}
	}
	return all
}

func TestCalibration(t *testing.T) {
	m := Machine{"CPU", "6.1"}
	all := runs(1)
	for _, name := range []string{"loop", "dictionary"} { // half as fast
		for i := range all[name] {
			all[name][i] *= 2
		}
	}

	c, err := Judge(m, map[string]string{"c": "sha256:1"}, all, time.Unix(1e9, 7))
	if err != nil {
		t.Fatal(err)
	}

	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v; want %v", what, got, want)
		}
	}

	near("native", c.Classes["native"], 1)
	near("interpreted", c.Classes["interpreted"], 2)
	near("the factor", c.Factor, math.Cbrt(2))
	near("the spread", c.Kernels[0].Spread, 1.0/50+1.0/30)
	if len(c.Noisy()) > 0 {
		t.Errorf("noisy are %q", c.Noisy())
	}

	all["loop"][0] *= 2
	if noisy, err := Judge(m, nil, all, time.Now()); err != nil || len(noisy.Noisy()) != 1 || noisy.Noisy()[0] != "loop" ||
		noisy.Factor != c.Factor {
		t.Errorf("one slow run: %q, factor %v, %v; want loop, %v", noisy.Noisy(), noisy.Factor, err, c.Factor)
	}

	file := filepath.Join(t.TempDir(), "brig", "calibration.json")
	if _, err := Load(file, m); !errors.Is(err, ErrNone) {
		t.Errorf("none: %v", err)
	}

	for range 2 {
		if err := c.Save(file); err != nil {
			t.Fatal(err)
		}
	}

	if again, err := Load(file, m); err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("it is %+v, %v; want %+v", again, err, c)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); len(left) != 1 || err != nil {
		t.Errorf("left is %v, %v", left, err)
	}
	if _, err := Load(file, Machine{"CPU", "6.2"}); err == nil ||
		!strings.Contains(err.Error(), "of another machine (CPU, Linux 6.1), and this is CPU, Linux 6.2") {
		t.Errorf("another kernel: %v", err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, m); err == nil || !strings.Contains(err.Error(), "is damaged: run brig calibrate again") {
		t.Errorf("damaged: %v", err)
	}

	for _, factor := range []float64{0.01, 20} {
		if _, err := Judge(m, nil, runs(factor), time.Now()); err == nil || !strings.Contains(err.Error(), "is not between") {
			t.Errorf("factor %v: %v", factor, err)
		}
	}

	delete(all, "loop")
	if _, err := Judge(m, nil, all, time.Now()); err == nil || !strings.Contains(err.Error(), "kernel loop: there is no processor time") {
		t.Errorf("a kernel that did not run: %v", err)
	}
	if got := Scale(1e9, 1.2345678); got != 1_234_568_000 || Scale(0, 2) != 0 {
		t.Errorf("scaled: %v", got)
	}
}

// Each kernel is in its source.
func TestKernelsAreInTheirSources(t *testing.T) {
	for _, k := range Kernels() {
		if text, name := Source(k.Language); !bytes.Contains(text, []byte(`"`+k.Name+`"`)) || name == "" {
			t.Errorf("%s has no kernel %s", name, k.Name)
		}
	}
	here, err := Here()
	if err != nil || here.CPU == "" || here.Kernel == "" {
		t.Errorf("this machine is %+v, %v", here, err)
	}
}
