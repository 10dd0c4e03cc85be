// Command build makes the files of the page, service/page/dist, from their sources in service/page/web. Each file has
// the hash of its content in its name, and is stored compressed, as it is sent. `make page` calls it; brig itself is
// built from the files, and needs neither this nor npm.
//
// With --check it writes nothing, and fails if the files are not those of the sources.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/brig-sandbox/brig/service/page/build/sources"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if the files are not those of the sources")
	flag.Parse()
	if err := build("service/page", *check); err != nil {
		fmt.Fprintln(os.Stderr, "service/page/build:", err)
		os.Exit(1)
	}
}

func build(dir string, check bool) error {
	web := filepath.Join(dir, "web")
	if _, err := os.Stat(filepath.Join(web, "node_modules")); err != nil {
		return fmt.Errorf("%s/node_modules is missing: make page installs it with npm", web)
	}

	files, err := bundle(web)
	if err != nil {
		return err
	}
	if check {
		return compare(filepath.Join(dir, "dist"), files)
	}
	return write(filepath.Join(dir, "dist"), files)
}

// bundle returns the content of all files by their names. The script that every page begins with is main; what a page
// loads later is a file of its own.
func bundle(dir string) (map[string][]byte, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}

	r := api.Build(api.BuildOptions{
		AbsWorkingDir: absolute, EntryPoints: []string{"main.tsx"}, Outdir: "out", Bundle: true, Splitting: true,
		Format: api.FormatESModule, Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact",
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		EntryNames: "[name]-[hash]", ChunkNames: "part-[hash]", AssetNames: "[name]-[hash]",
	})
	if len(r.Errors) > 0 {
		return nil, errors.New(api.FormatMessages(r.Errors, api.FormatMessagesOptions{})[0])
	}

	files := map[string][]byte{}
	for _, f := range r.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}

	// What the files were made of. TestTheFilesAreOfTheseSources compares it without npm.
	sum, err := sources.Sum(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	files["sources.sum"] = []byte(sum + "\n")
	return files, nil
}

func write(dist string, files map[string][]byte) error {
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}

	total := 0
	for _, name := range sorted(files) {
		var compressed bytes.Buffer
		w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(files[name]); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, name+".gz"), compressed.Bytes(), 0o644); err != nil {
			return err
		}
		total += compressed.Len()
		fmt.Printf("%7d %7d %s\n", len(files[name]), compressed.Len(), name)
	}
	fmt.Printf("%15d in all\n", total)
	return nil
}

// compare fails if the directory does not have these files, and them alone. The contents are compared, not the
// compressed bytes, which depend on the version of Go.
func compare(dist string, files map[string][]byte) error {
	const cure = "run make page, and commit service/page/dist"
	have, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	for _, f := range have {
		name := f.Name()[:max(0, len(f.Name())-len(".gz"))]
		if _, ok := files[name]; !ok {
			return fmt.Errorf("%s/%s is not made by the sources: %s", dist, f.Name(), cure)
		}
	}

	for _, name := range sorted(files) {
		f, err := os.Open(filepath.Join(dist, name+".gz"))
		if err != nil {
			return fmt.Errorf("%w: %s", err, cure)
		}
		got, err := read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		if !bytes.Equal(got, files[name]) {
			return fmt.Errorf("%s differs from what the sources make: %s", f.Name(), cure)
		}
	}
	return nil
}

func read(f *os.File) ([]byte, error) {
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func sorted(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
