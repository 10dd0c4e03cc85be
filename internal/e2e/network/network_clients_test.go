package network

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/build"
)

const clientPrograms = "../../../testdata/network/clients"

// The HTTP clients of the languages work unchanged, with a name that exists only outside. Those of
// BRIG_TEST_LANGUAGES are tested, as in TestLanguages.
func TestNetworkClientsOfLanguages(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "10m", "--max-cpu", "10m")
	server := webServer(t)
	_, port, _ := net.SplitHostPort(server)
	n := networkRun{agent: a, hosts: map[string]string{"api.test": "127.0.0.1"}}
	for _, l := range harness.BuiltinLanguages(t) {
		programs, err := filepath.Glob(filepath.Join(clientPrograms, "*"+filepath.Ext(l.SourceFile)))
		if err != nil {
			t.Fatal(err)
		}
		if len(programs) != 1 || strings.HasSuffix(l.Name, "-full") || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		t.Run(l.Name, func(t *testing.T) {
			harness.Images.Load(t, a, l.Image)
			source, err := os.ReadFile(programs[0])
			if err != nil {
				t.Fatal(err)
			}

			ask := api.Run{Language: l.Name, Source: source, Argv: []string{"http://api.test:" + port + "/" + l.Name},
				CompileLimits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)},
				Limits:        api.Limits{Wall: harness.Slowly(30), CPU: harness.Slowly(20)}}
			if len(l.Compile) == 0 {
				ask.CompileLimits = api.Limits{}
			}

			control := a.MustRun(t, ask)
			ask.Network, ask.Allow = api.NetworkAllow, []string{"api.test:" + port}
			res := n.run(t, ask)
			harness.WantVerdict(t, res, api.OK)
			if want := fmt.Sprintf("answer to /%s of api.test:%s\n", l.Name, port); string(res.Stdout) != want {
				t.Errorf("stdout %q, stderr %.500q; want %q", res.Stdout, res.Stderr, want)
			}
			if bytes.Contains(control.Stdout, []byte("answer")) {
				t.Errorf("without network: %q", control.Stdout)
			}
		})
	}
}

// curl, git over https, pip and npm work unchanged: no proxy, no setting of brig's. Port 443 is used,
// so the relay also checks the name that TLS asks for.
func TestNetworkClientsThatPeopleUse(t *testing.T) {
	testenv.NeedRoot(t)
	if !harness.Chosen("network-clients", true) {
		return // the image takes minutes to build: part of BRIG_TEST_LANGUAGES=all
	}

	a := harness.StartAgent(t, "--max-wall", "10m", "--max-cpu", "10m")
	importRecipe(t, a, "../../../testdata/network/clients.yaml")
	const outside = "127.0.0.9" // of this host's loopback: its port 443 is this test's own
	authority := clientServer(t, outside)
	n := networkRun{agent: a, hosts: map[string]string{"git.test": outside, "index.test": outside, "registry.test": outside}}
	for _, c := range []struct {
		name, script, want string
	}{
		{"curl", `curl -sS --cacert ca.pem https://index.test/hello`, "hello from index.test\n"},
		{"git", `GIT_SSL_CAINFO=/box/ca.pem git clone -q https://git.test/repository copy && cat copy/file`, "from the repository\n"},
		{"pip", `python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action ignore --cert ca.pem --index-url https://index.test/simple/ --target p demo &&
			PYTHONPATH=p python3 -c 'import demo; print(demo.answer)'`, "42\n"},
		{"npm", `npm install --silent --no-audit --no-fund --no-update-notifier --cafile ca.pem --registry https://registry.test/ demo && node -e 'console.log(require("demo"))'`, "42\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := n.run(t, api.Run{
				Image: "network-clients", Argv: []string{"/bin/sh", "-c", c.script}, Files: []api.File{{Name: "ca.pem", Content: authority}},
				Network: api.NetworkAllow, Allow: []string{"git.test:443", "index.test:443", "registry.test:443"},
				Limits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60), Memory: api.GiB},
			})
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != c.want {
				t.Errorf("stdout %q, stderr %.2000q; want %q", res.Stdout, res.Stderr, c.want)
			}
			if u := res.Network; u == nil || len(u.Hosts) != 1 || u.Hosts[0].Port != 443 {
				t.Errorf("the result tells %+v", res.Network)
			}
		})
	}
}

// importRecipe builds the image of a recipe, and stores it, if the store lacks it.
func importRecipe(t *testing.T, a *harness.Agent, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	recipe, err := build.ParseRecipe(file, text)
	if err != nil {
		t.Fatal(err)
	}

	mark, current := harness.RecipeMark(t, a.Data, recipe)
	if current {
		return
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()

	var tarball bytes.Buffer
	if err := build.Image(ctx, recipe, &tarball, build.Options{Cache: "/var/cache/brig"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(ctx, &tarball, recipe.Name, ""); err != nil {
		t.Fatal(err)
	}

	mark()
}
