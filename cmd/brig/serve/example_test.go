package serve

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/service/identity"
)

const example = "../../../deploy/packaging/serve.yaml"

func serveFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	return Command(&cli.CLI{Env: func(string) string { return "" }}).Flags()
}

// The example has every setting of brig serve, each with its default.
func TestExampleIsTheDefaults(t *testing.T) {
	f := serveFlags(t)
	settings, err := readSettings(example)
	if err != nil {
		t.Fatal(err)
	}

	var got, want []string
	for _, s := range settings {
		got = append(got, s.name)
	}

	before := map[string]string{}
	f.VisitAll(func(g *pflag.Flag) {
		before[g.Name] = g.Value.String()
		if g.Name != "config" && g.Name != "help" { // it names the file
			want = append(want, g.Name)
		}
	})

	if !slices.Equal(got, want) {
		t.Errorf("the settings of the example are\n%v; those of brig serve, in their order,\n%v", got, want)
	}

	c := &cli.CLI{Env: func(string) string { return "" }}
	if err := applySettings(c, f, "BRIG_SERVE_", nil, example); err != nil {
		t.Fatal(err)
	}

	f.VisitAll(func(g *pflag.Flag) {
		if now := g.Value.String(); now != before[g.Name] {
			t.Errorf("%s is %s in the example; its default is %s", g.Name, now, before[g.Name])
		}
	})
}

// Every setting of the example has a comment above it.
func TestExampleExplainsEachSetting(t *testing.T) {
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(string(text), "\n")
	n := 0
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, " ") {
			continue
		}
		n++
		if i == 0 || !strings.HasPrefix(lines[i-1], "# ") {
			t.Errorf("line %d, %q, has no comment above it", i+1, line)
		}
	}

	if n < 10 {
		t.Errorf("%d settings were looked at", n)
	}
}

// The container image sets only settings that brig serve knows, and runs as the spare user.
func TestImageSetsKnownSettings(t *testing.T) {
	f := serveFlags(t)
	text, err := os.ReadFile("../../../deploy/packaging/Containerfile")
	if err != nil {
		t.Fatal(err)
	}

	set := regexp.MustCompile(`BRIG_SERVE_(\w+)=(\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(set) < 4 {
		t.Errorf("the image sets %q", set)
	}

	for _, s := range set {
		if err := f.Set(strings.ToLower(strings.ReplaceAll(s[1], "_", "-")), s[2]); err != nil {
			t.Error(err)
		}
	}

	if want := fmt.Sprintf("\nUSER %d:%d\n", identity.FallbackID, identity.FallbackID); !strings.Contains(string(text), want) {
		t.Errorf("the image has no line %q", want)
	}
	if dir := f.Lookup("data-dir").DefValue; !strings.Contains(string(text), "\nVOLUME "+dir+"\n") {
		t.Errorf("the image has no volume %s", dir)
	}
}
