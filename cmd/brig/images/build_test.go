package images

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/build"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// Who names a language where a recipe is wanted is told its image: every language that has one.
func TestRecipesOfLanguagesAreNamed(t *testing.T) {
	all, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	named := 0
	for _, l := range all.All() {
		_, isRecipe := build.Recipes()[l.Name]
		if _, ok := build.Recipes()[l.Image]; isRecipe || !ok {
			continue
		}
		named++
		if _, err := findRecipe(l.Name, ""); err == nil || !strings.HasSuffix(err.Error(), ": brig rootfs build "+l.Image) {
			t.Errorf("%s: %v; want the command for %s", l.Name, err, l.Image)
		}
	}

	if named == 0 {
		t.Error("no language has an image of another name")
	}
}
