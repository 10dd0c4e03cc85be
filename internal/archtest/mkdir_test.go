package archtest

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// makesAll are the files that make a directory with its parents by themselves, and why nobody but their
// own user has to pass through it. All others use internal/shareddir.
var makesAll = map[string]string{
	"internal/cache/cache.go":          "its callers have made the directory",
	"judge/calibrate/calibrate.go":     "data of the user",
	"cmd/brig/run/report.go":           "a report, where the user wants it",
	"cmd/brig/serve/pictures.go":       "pictures, where the user wants them",
	"cmd/brigd/main.go":                "brigd sets its umask, and checks what it finds",
	"service/batches/store.go":         "in the data of the service, which the service makes",
	"service/page/build/main.go":       "in the checkout",
	"service/problems/store.go":        "in the data of the service, which the service makes",
	"internal/shareddir/shareddir.go":  "the one place for the others",
	"judge/problem/convert/convert.go": "a package, where the user wants it",
	"judge/problem/store/store.go":     "data of the user",
	"rootfs/oci/blob.go":               "the process that reads images makes it for itself",
	"rootfs/oci/files.go":              "the process that reads images makes it for itself",
	"rootfs/store.go":                  "brigd sets its umask, and checks what it finds",
	"runtime/cell/factory.go":          "brigd sets its umask, and checks what it finds",
	"runtime/instance.go":              "brigd sets its umask, and checks what it finds",
	"runtime/volume/files.go":          "volumes are root's alone",
	"runtime/snapshot/draft.go":        "snapshots are root's alone",
}

// A directory that root makes is one that another user's process may have to pass through, often that of
// another command: after one that made the cache for root alone, images could not be built. The tools
// that measure run on machines for tests.
func TestSharedDirectoriesAreMadeInOnePlace(t *testing.T) {
	var found []string
	eachGoFile(t, func(name string, text []byte) {

		if strings.HasPrefix(name, "internal/bench/") || strings.HasPrefix(name, "internal/e2e/") || strings.HasSuffix(name, "_test.go") ||
			strings.HasSuffix(path.Dir(name), "test") || strings.HasPrefix(name, "testdata/") {
			return
		}
		if bytes.Contains(text, []byte("os.MkdirAll(")) {
			found = append(found, name)
		}
	})

	for _, name := range found {
		if makesAll[name] == "" {
			t.Errorf("%s calls os.MkdirAll: use shareddir.Make or MakePrivate, or say here why nobody else passes through", name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(makesAll)) {
		if !slices.Contains(found, name) {
			t.Errorf("%s does not call os.MkdirAll any more: remove it here", name)
		}
	}
}
