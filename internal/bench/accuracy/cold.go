package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// cold compares the memory of each language's programs with their image in the page cache
// and after its eviction: of the compiler, if there is one, and of the run.
func (t *tool) cold(ctx context.Context) error {
	languages, err := t.agent.Client.Languages(ctx)
	if err != nil {
		return err
	}

	unix.Sync() // dirty pages are not evicted
	measured := 0
	for _, l := range languages {
		if !l.Stored {
			t.report.row("memory, "+l.Name+", image evicted", "-", "its image is not stored", true)
			continue
		}

		measured++

		for _, what := range []string{"hello", "library"} {
			pattern := filepath.Join("testdata", "languages", strings.TrimSuffix(l.Name, "-full"), what+".*")
			found, err := filepath.Glob(pattern)
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("%s: %d programs", pattern, len(found))
			}
			if err := t.coldProgram(ctx, l, what, found[0]); err != nil {
				return fmt.Errorf("%s: %w", found[0], err)
			}
		}
	}

	if measured == 0 {
		return fmt.Errorf("no image of a language is stored: use --store to name a store with images")
	}
	return nil
}

func (t *tool) coldProgram(ctx context.Context, l api.Language, what, file string) error {
	const MiB, n = 1 << 20, 5
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}

	// A new file makes each run compile: input files are part of the artifact cache's key.
	measure := func(evicted bool, i int) (run, compile int64, err error) {
		if evicted {
			if err := t.evict(l.Image); err != nil {
				return 0, 0, err
			}
		}

		salt := fmt.Appendf(nil, "%d %d", time.Now().UnixNano(), i)
		res, err := t.run(ctx,
			api.Run{Language: l.Name, Source: source, Files: []api.File{{Name: "salt.txt", Content: salt}},
				Collect: api.Collect{None: true}})
		if err != nil {
			return 0, 0, err
		}
		if res.Verdict != api.OK {
			return 0, 0, fmt.Errorf("verdict %s, stderr %.200q", res.Verdict, res.Stderr)
		}
		if res.Compile != nil {
			compile = *res.Compile.Usage.Memory.Value
		}
		return *res.Usage.Memory.Value, compile, nil
	}

	var warm, cold, warmCompile, coldCompile []int64
	if _, _, err := measure(false, -1); err != nil { // the first fills the page cache with the compiler's own files
		return err
	}

	for i := range n {
		for _, evicted := range []bool{false, true} {
			run, compile, err := measure(evicted, i)
			if err != nil {
				return err
			}
			if evicted {
				cold, coldCompile = append(cold, run), append(coldCompile, compile)
			} else {
				warm, warmCompile = append(warm, run), append(warmCompile, compile)
			}
		}
	}

	row := func(stage string, warm, cold []int64) {
		got, low, high := median(cold), float64(slices.Min(warm)), float64(slices.Max(warm))
		off, ok := withinTolerance(got, min(max(got, low), high), 0.02, MiB)
		t.report.row(fmt.Sprintf("memory, %s, %s of %s, median of %d with the image evicted, compared with the range "+
			"of %[4]d without eviction", l.Name, stage, what, n), "within 2 % or 1 MiB",
			fmt.Sprintf("%+.2f MiB from %.1f to %.1f", off/MiB, low/MiB, high/MiB), ok)
	}

	if median(warmCompile) > 0 {
		row("compile stage", warmCompile, coldCompile)
	}

	row("run", warm, cold)
	return nil
}

// median is the median.
func median(v []int64) float64 {
	s := slices.Sorted(slices.Values(v))
	return float64(s[len(s)/2])
}

// evict makes the kernel evict the files of an image from the page cache.
func (t *tool) evict(image string) error {
	tree, err := t.agent.ImageDir(image)
	if err != nil {
		return err
	}

	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
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
}
