package languages

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

const withPackages = `name: x
image: x
source_file: x.x
run: [x, "{source}"]
packages:
  kind: python
  image: python-pip
  install: [/install, "{requirements}", "{index}"]
  index: https://pypi.org/simple
  env: {PATH: "/packages/bin:{path}"}
`

func TestPackagesOfAManifest(t *testing.T) {
	l, err := parse("x.yaml", []byte(withPackages+"  limits: {wall: 1m, memory: 1G}\n  links: {node_modules: "+
		"packages/node_modules}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}

	p := l.Packages
	if p.Limits.Wall != api.Duration(60e9) || p.Limits.Memory != api.GiB || p.Limits.Scratch != 2*api.GiB || p.Limits.Pids != 256 {
		t.Errorf("limits %+v", p.Limits)
	}
	if got := p.Command("r.txt", "https://i/"); !slices.Equal(got, []string{"/install", "r.txt", "https://i/"}) {
		t.Errorf("command %q", got)
	}
	if got := p.Environment("/bin"); got["PATH"] != "/packages/bin:/bin" {
		t.Errorf("environment %v", got)
	}
}

func TestMistakesInPackagesAreReported(t *testing.T) {
	for old, tt := range map[string]struct{ new, says string }{
		"kind: python":      {"kind: apt", `kind "apt"`},
		"image: python-pip": {"image: ../x", "image"},
		`install: [/install, "{requirements}", "{index}"]`: {"install: []", "install is missing"},
		"index: https://pypi.org/simple":                   {"index: pypi.org", "index"},
		"{PATH:":                                           {"{\"A B\":", "variable"},
		"  kind":                                           {"  links: {a/b: c}\n  kind", "link"},
		"  image":                                          {"  hosts: ['http://x']\n  image", "allow"},
		"  install":                                        {"  tier: none\n  install", "tier"},
		"  env":                                            {"  extra: 1\n  env", "extra"},
	} {
		text := strings.Replace(withPackages, old, tt.new, 1)
		if text == withPackages {
			t.Fatalf("%q is not in the manifest", old)
		}
		if _, err := parse("x.yaml", []byte(text), []string{"default"}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v; want %q", tt.new, err, tt.says)
		}
	}
}
