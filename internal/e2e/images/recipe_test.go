package images

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// The recipe that docs/languages.md shows is built as it is written,
// and its image runs what the page runs, also as the page's language that extends python. numpy
// cannot be imported without the link that libblas3's postinst creates with update-alternatives, and
// the command linalg is created by the recipe's Finish.
func TestRecipeOfTheLanguagesPage(t *testing.T) {
	testenv.NeedRoot(t)
	page, err := os.ReadFile("../../../docs/languages.md")
	if err != nil {
		t.Fatal(err)
	}

	shown := regexp.MustCompile("(?s)```yaml\n(name: python-numpy\n.*?)```").FindSubmatch(page)
	if shown == nil {
		t.Fatal("docs/languages.md shows no recipe python-numpy")
	}

	recipe, err := build.ParseRecipe("docs/languages.md", shown[1])
	if err != nil {
		t.Fatal(err)
	}

	var built bytes.Buffer
	if err := build.Image(t.Context(), recipe, &built, build.Options{Cache: "/var/cache/brig"}); err != nil {
		t.Fatal(err)
	}

	manifest := regexp.MustCompile("(?s)```yaml\n(# /etc/brig/languages/numeric.yaml\n.*?)```").FindSubmatch(page)
	if manifest == nil {
		t.Fatal("docs/languages.md shows no manifest numeric")
	}

	manifests := t.TempDir()
	if err := os.WriteFile(filepath.Join(manifests, "numeric.yaml"), manifest[1], 0o644); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-data-"), "--languages", manifests)
	if _, err := a.Import(t.Context(), &built, recipe.Name, ""); err != nil {
		t.Fatal(err)
	}

	program := api.Run{Language: "numeric",
		Source: api.Bytes("import numpy, os\nprint(numpy.arange(4).sum(), os.environ['OMP_NUM_THREADS'])\n")}
	if res := a.MustRun(t, program); string(res.Stdout) != "6 1\n" {
		t.Errorf("a program of the language that extends python prints %q, %q; want 6 1", res.Stdout, res.Stderr)
	}

	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"python3", "-c", "import numpy; print(numpy.linalg.solve([[2., 0.], [0., 4.]], [2., 8.]))"}, "[1. 2.]\n"},
		{[]string{"linalg"}, "4\n"}, // created by Finish
		{[]string{"awk", "BEGIN { print 1 + 1 }"}, "2\n"},
		{[]string{"which", "awk"}, "/usr/bin/awk\n"},
		{[]string{"readlink", "/usr/bin/awk", "/usr/lib/x86_64-linux-gnu/libblas.so.3"},
			"/etc/alternatives/awk\n/etc/alternatives/libblas.so.3-x86_64-linux-gnu\n"},
		// What the postinsts did besides the links, and what the build needed, is absent.
		{[]string{"sh", "-c", "ls /var/cache /usr/bin/update-alternatives /usr/bin/ucf /usr/bin/systemctl 2>/dev/null"}, "/var/cache:\n"},
	} {
		res := a.MustRun(t, api.Run{Image: recipe.Name, Argv: c.argv})
		if string(res.Stdout) != c.want {
			t.Errorf("%q prints %q, %q; want %q", c.argv, res.Stdout, res.Stderr, c.want)
		}
	}
}
