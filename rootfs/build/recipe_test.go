package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/rootfs/recipes"
)

func TestRecipesParse(t *testing.T) {
	all := Recipes()
	for name, r := range all {
		if r.Name != name || !recipes.Has(name) {
			t.Errorf("recipe %s is in a file of another name", name)
		}
	}

	for _, name := range []string{"python", "tiny"} {
		if all[name].Name != name {
			t.Errorf("no recipe %q", name)
		}
	}

	for name, text := range map[string]string{
		"an unknown kind":            "name: x\nkind: docker\n",
		"a debian one without suite": "name: x\nkind: debian\npackages: [dash]\nepoch: 1\n",
		"an unknown field":           "name: x\nkind: busybox\nsuit: trixie\n",
		"one that extends none":      "name: x\nkind: debian\nextends: cobol\n",
		"one that extends a third":   "name: x\nkind: debian\nextends: php-full\n",
		"one with a suite twice":     "name: x\nkind: debian\nextends: php\nsuite: sid\n",
		"a lock that brig lacks":     "name: x\nkind: debian\nextends: lua\nnpm: left-pad\n",
		"two locks":                  "name: x\nkind: debian\nextends: node\nnpm: jvm\n",
	} {
		if _, err := ParseRecipe("x.yaml", []byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}

	own, err := ParseRecipe("x.yaml", []byte("name: x\nkind: debian\nextends: lua\npackages: [jq]\nfinish: |\n  true\n"))
	if err != nil || !slices.Equal(own.Packages, []string{"lua5.4", "jq"}) || own.Suite != "trixie" ||
		own.Finish != all["lua"].Finish+"true\n" {
		t.Errorf("a recipe that extends lua is %+v, %v", own, err)
	}

	own, err = ParseRecipe("x.yaml", []byte("name: x\nkind: debian\nextends: node\npackages: [jq]\n"))
	if err != nil || own.NPM != "node" || len(own.Lock) == 0 {
		t.Errorf("a recipe that extends node has the lock %q of %d bytes, %v", own.NPM, len(own.Lock), err)
	}
	if _, err := FindRecipe("cobol"); err == nil || !strings.Contains(err.Error(), "lua, mono, node") {
		t.Errorf("FindRecipe(cobol): %v; want it to list what there is", err)
	}
}

// A Dockerfile is called by its name, and the error says how to get its image into brig.
func TestDockerfileIsNoRecipe(t *testing.T) {
	for name, text := range map[string]string{
		"the shortest":        "FROM alpine\n",
		"lower case":          "from alpine",
		"arguments before it": "# syntax=docker/dockerfile:1\n\nARG VERSION=3\nFROM python:${VERSION} AS base\nRUN echo a: b\n",
	} {
		_, err := ParseRecipe("Dockerfile", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "Dockerfile: this is a Dockerfile, not a recipe") ||
			!strings.Contains(err.Error(), "docker export $(docker create IMAGE) | brig rootfs import - --name NAME") {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, text := range []string{"from: x\n", "# FROM x\n", "FROM", "kind: busybox\nname: x\n", ""} {
		if _, err := ParseRecipe("x.yaml", []byte(text)); err != nil && strings.Contains(err.Error(), "Dockerfile") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
