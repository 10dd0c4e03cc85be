package images

import (
	"crypto/sha256"
	"os"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// Two builds of a recipe from the same packages are the same bytes, where programs of the image
// itself wrote a part of them: Python its bytecode, GCC its precompiled headers, Go its cache, Java
// its class archive.
func TestLanguageImagesAreReproducible(t *testing.T) {
	testenv.NeedRoot(t)
	if os.Getenv("BRIG_TEST_LANGUAGES") != "all" {
		return // each image takes as long again
	}

	for _, name := range []string{"python", "cpp", "go", "java", "bash"} {
		t.Run(name, func(t *testing.T) {
			recipe, err := build.FindRecipe(name)
			if err != nil {
				t.Fatal(err)
			}

			var digests [2][]byte
			for i := range digests {
				h := sha256.New()
				if err := build.Image(t.Context(), recipe, h, build.Options{Cache: "/var/cache/brig"}); err != nil {
					t.Fatal(err)
				}
				digests[i] = h.Sum(nil)
			}

			t.Logf("%x", digests[0])
			if string(digests[0]) != string(digests[1]) {
				t.Errorf("two builds are %x and %x", digests[0], digests[1])
			}
		})
	}
}
