package images

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
)

// coldPrograms are ordinary programs that read much of their image, with limits that they easily
// keep while the image stays in the page cache.
var coldPrograms = []struct {
	language, source string
	memory           api.Size
}{
	{"python", "import json, re, decimal, random, subprocess, asyncio\nprint(1)", 15 * api.MiB},
	{"javascript", "console.log(1)", 32 * api.MiB},
}

// evictImage asks the kernel to evict every file of an image from the page cache, as any process on the
// host may that can open them. Locked pages stay.
func evictImage(t testing.TB, a *harness.Agent, name string) {
	t.Helper()
	store, err := rootfs.Open(filepath.Join(a.Data, "images"))
	if err != nil {
		t.Fatal(err)
	}

	img, err := store.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}

	unix.Sync() // dirty pages cannot be evicted
	err = filepath.WalkDir(img.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Neither the verdict nor a measurement depends on whether the image's files are in the page cache
// (H6, B8, RES-24): the agent holds them there. A second agent that holds none shows that with
// these programs and this eviction it would matter.
func TestAColdImageChangesNothing(t *testing.T) {
	testenv.NeedRoot(t)

	for _, tt := range coldPrograms {
		if only := os.Getenv("BRIG_TEST_LANGUAGES"); only == "python" && tt.language != only {
			continue // a machine that has only this image
		}

		t.Run(tt.language, func(t *testing.T) {
			r := api.Run{Language: tt.language, Source: api.Bytes(tt.source), Limits: api.Limits{Memory: 256 * api.MiB, CPU: harness.Slowly(10)}}
			image := map[string]string{"javascript": "node"}[tt.language]
			if image == "" {
				image = tt.language
			}

			// figures returns the smallest memory of the program, and the largest with its image
			// evicted before.
			figures := func(t *testing.T, a *harness.Agent) (warm, cold int64) {
				t.Helper()
				harness.Images.Load(t, a, image)
				evictImage(t, a, image)
				figure := func(what string, r api.Run) int64 {
					res := a.MustRun(t, r)
					harness.WantVerdict(t, res, api.OK)
					t.Logf("%s: memory %.2f MiB, cpu %d ms", what, float64(*res.Usage.Memory.Value)/float64(api.MiB), *res.Usage.CPU.Value/1e6)
					return *res.Usage.Memory.Value
				}

				first := figure("the first run, of a cold image", r)
				warm = min(figure("warm", r), figure("warm", r))
				evictImage(t, a, image)
				return warm, max(first, figure("evicted", r))
			}

			mib := func(n int64) float64 { return float64(n) / float64(api.MiB) }
			var held int64
			t.Run("held", func(t *testing.T) {
				a := harness.StartAgent(t, "--max-cpu", "10m", "--max-wall", "10m")
				warm, cold := figures(t, a)
				if held = warm; cold-warm > max(warm/50, int64(api.MiB)) {
					t.Errorf("the figure of a cold image is %.2f MiB above that of a warm one", mib(cold-warm))
				}

				for i := range 3 {
					tight := r
					tight.Limits = api.Limits{Memory: tt.memory, CPU: harness.Slowly(2)}
					warm := a.MustRun(t, tight)
					evictImage(t, a, image)
					cold := a.MustRun(t, tight)
					if warm.Verdict != api.OK || cold.Verdict != api.OK {
						t.Errorf("round %d, memory %s: warm %s, evicted %s", i, tt.memory, warm.Verdict, cold.Verdict)
					}
				}
			})

			t.Run("not held", func(t *testing.T) {
				// Where the pages that a run has read leave the page cache with its group, each run
				// here is a cold one.
				if _, cold := figures(t,
					harness.StartAgent(t, "--image-memory", "none", "--max-cpu", "10m", "--max-wall", "10m")); cold-held <= max(held/50, int64(api.MiB)) {
					t.Errorf("%.2f MiB without, and %.2f with: this test shows nothing", mib(cold), mib(held))
				}
			})
		})
	}
}

// If the memory for images is too small for an image, the agent holds as much of it as fits, and
// the log and Health say so.
func TestTooLittleImageMemoryIsReported(t *testing.T) {
	a := harness.StartAgent(t, "--image-memory", "1M")
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("true")), api.OK)
	h, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.ImagesMax != int64(api.MiB) || h.ImagesHeld > h.ImagesMax || h.ImagesWanted <= h.ImagesMax {
		t.Errorf("held %d of %d, wanted %d", h.ImagesHeld, h.ImagesMax, h.ImagesWanted)
	}
	if log := a.Log.String(); !strings.Contains(log, "not all files of an image are held in memory") ||
		!strings.Contains(log, "raise --image-memory") {
		t.Errorf("the log says %q", log)
	}

	whole := harness.StartAgent(t, "--image-memory", "16M")
	harness.WantVerdict(t, whole.MustRun(t, harness.Sh("true")), api.OK)
	if h, err = whole.Health(t.Context()); err != nil || h.ImagesHeld == 0 || h.ImagesHeld != h.ImagesWanted {
		t.Errorf("held %d, wanted %d, %v", h.ImagesHeld, h.ImagesWanted, err)
	}
	if log := whole.Log.String(); strings.Contains(log, "not all files") {
		t.Errorf("the log says %q", log)
	}
}
