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

// cold compares the memory of each language's programs while their image is in the page
// cache and after it was thrown out: of the compiler, where there is one, and of the run.
func (t *tool) cold(ctx context.Context) error {
	languages, err := t.agent.Client.Languages(ctx)
	if err != nil {
		return err
	}
	unix.Sync() // what is still to be written is not thrown out
	measured := 0
	for _, l := range languages {
		if !l.Stored {
			t.report.row("memory, "+l.Name+", image evicted", "-", "its image is not stored", true)
			continue
		}
		measured++
		for _, what := range []string{"hello", "library"} {
			pattern := filepath.Join("e2e", "testdata", "languages", strings.TrimSuffix(l.Name, "-full"), what+".*")
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
		return fmt.Errorf("no image of a language is stored: name a store that has some with --store")
	}
	return nil
}

func (t *tool) coldProgram(ctx context.Context, l api.Language, what, file string) error {
	const MiB, n = 1 << 20, 5
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// A file that no run had before has each of them compile: it is part of the key under
	// which artifacts are kept.
	figures := func(evicted bool, i int) (run, compile int64, err error) {
		if evicted {
			if err := t.evict(l.Image); err != nil {
				return 0, 0, err
			}
		}
		salt := fmt.Appendf(nil, "%d %d", time.Now().UnixNano(), i)
		res, err := t.run(ctx, api.Run{Language: l.Name, Source: source, Files: []api.File{{Name: "salt.txt", Content: salt}}, Collect: api.Collect{None: true}})
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
	if _, _, err := figures(false, -1); err != nil { // the first has the page cache of the compiler's own files to fill
		return err
	}
	for i := range n {
		for _, evicted := range []bool{false, true} {
			run, compile, err := figures(evicted, i)
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
		got, low, high := middle(cold), float64(slices.Min(warm)), float64(slices.Max(warm))
		off, ok := near(got, min(max(got, low), high), 0.02, MiB)
		t.report.row(fmt.Sprintf("memory, %s, %s of %s, median of %d with the image evicted beside the range of %[4]d with it not", l.Name, stage, what, n), "within 2 % or 1 MiB",
			fmt.Sprintf("%+.2f MiB from %.1f to %.1f", off/MiB, low/MiB, high/MiB), ok)
	}
	if middle(warmCompile) > 0 {
		row("compile stage", warmCompile, coldCompile)
	}
	row("run", warm, cold)
	return nil
}

// middle is the median.
func middle(v []int64) float64 {
	s := slices.Sorted(slices.Values(v))
	return float64(s[len(s)/2])
}

// evict has the kernel throw the files of an image out of the page cache.
func (t *tool) evict(image string) error {
	tree, err := t.agent.TreeOf(image)
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
