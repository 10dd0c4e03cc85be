package rootfs

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// IMG-51: a whiteout is never a name without a file, whichever layers have its directory. In the
// controls whiteouts hide what is below.
func TestWhiteoutsDoNotShow(t *testing.T) {
	low := members{dir("d"), file("d/x", "low"), file("d/y", "low"), dir("d/e"), file("d/e/x", "low")}
	for _, tt := range []struct {
		name   string
		layers []members
		want   string // below d
	}{
		{"a directory of one layer", []members{{dir("d"), file("d/a", "1"), file("d/.wh.x", "")}}, "a -rw-r--r-- 1\n"},
		{"without a member for the directory", []members{{file("d/a", "1"), file("d/.wh.x", "")}}, "a -rw-r--r-- 1\n"},
		{"a directory of one layer among merged ones", []members{low, {file("d/f/g/a", "1"), file("d/f/g/.wh.x", "")}},
			"e drwxr-xr-x\ne/x -rw-r--r-- low\nf drwxr-xr-x\nf/g drwxr-xr-x\nf/g/a -rw-r--r-- 1\nx -rw-r--r-- low\ny -rw-r--r-- low\n"},
		{"opaque", []members{low, {dir("d"), file("d/.wh..wh..opq", ""), file("d/.wh.x", ""), file("d/a", "1")}}, "a -rw-r--r-- 1\n"},
		{"opaque later", []members{low, {dir("d"), file("d/.wh.x", ""), file("d/a", "1"), file("d/.wh..wh..opq", "")}}, "a -rw-r--r-- 1\n"},
		{"below an opaque one", []members{low, {file("d/.wh..wh..opq", ""), file("d/e/.wh.x", ""), file("d/e/a", "1")}},
			"e drwxr-xr-x\ne/a -rw-r--r-- 1\n"},
		{"an opaque root", []members{low, {file(".wh..wh..opq", ""), file("d/.wh.x", ""), file("d/a", "1")}}, "a -rw-r--r-- 1\n"},
		{"removed as a whole", []members{low, {dir("d"), file("d/.wh.x", "")}, {file(".wh.d", ""), file("d/a", "1")}}, "a -rw-r--r-- 1\n"},
		{"a file in the whiteout's place", []members{low, {file("d/.wh.x", ""), file("d/x", "1")}},
			"e drwxr-xr-x\ne/x -rw-r--r-- low\nx -rw-r--r-- 1\ny -rw-r--r-- low\n"},
		{"control merged", []members{low, {dir("d"), file("d/.wh.x", ""), file("d/e/.wh.x", "")}}, "e drwxr-xr-x\ny -rw-r--r-- low\n"},
		{"control merged in the middle", []members{low, {file("d/.wh.x", "")}, {file("d/z", "1")}},
			"e drwxr-xr-x\ne/x -rw-r--r-- low\ny -rw-r--r-- low\nz -rw-r--r-- 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			img, err := s.AddImage(t.Context(), Spec{Layers: importLayers(t, s, tt.layers...)}, "x")
			if err != nil {
				t.Fatal(err)
			}
			if got := listing(t, filepath.Join(mounted(t, img), "d")); got != tt.want {
				t.Errorf("it shows\n%s\nwant\n%s", got, tt.want)
			}
			if v, err := s.Verify(t.Context(), "x"); err != nil || !v.OK() {
				t.Errorf("verify: %+v, %v", v, err)
			}
		})
	}
}

// A directory that brig adds above the layers, so that whiteouts do not show, has the mode and the time
// of the layer's.
func TestAddedDirectoriesLookAsInTheirLayer(t *testing.T) {
	s := newStore(t)
	img, err := s.AddImage(t.Context(),
		Spec{Layers: importLayers(t, s, members{with(dir("d"), func(h *tar.Header) { h.Mode = 0o511 }), dir("d/e"), file("d/e/.wh.x", "")})}, "x")
	if err != nil {
		t.Fatal(err)
	}

	root := mounted(t, img)
	for name, mode := range map[string]os.FileMode{"d": 0o555, "d/e": 0o755} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode().Perm() != mode || !info.ModTime().Equal(epoch) {
			t.Errorf("%s: %v, %v; want mode %o, %v", name, info, err, mode, epoch)
		}
	}

	if info, err := os.Stat(root); err != nil || !info.ModTime().Equal(time.Unix(0, 0)) {
		t.Errorf("the root: %v, %v", info, err)
	}
}

// IMG-54: a working directory below one over which a cell mounts its own cannot be entered: commands
// start as without one. In the controls the directory is kept, and is there.
func TestWorkingDirectoriesThatNoCellShows(t *testing.T) {
	s := newStore(t)
	layers := importLayers(t, s,
		members{dir("tmp"), dir("tmp/build"), symlink("w", "/tmp"), symlink("sandbox", "opt"), dir("opt"), symlink("l", "opt")})
	for dir, kept := range map[string]bool{
		"/tmp/build": false, "/tmp/new/deep": false, "/box/sub": false, "/dev/shm/x": false, "/proc/self/fd/3": false, "/w/x": false,
		"/w/build": false, "/sandbox/x": false,
		"/tmp": true, "/box": true, "/sandbox": true, "/": true, "/opt": true, "/l/new": true, "/workspace/x": true, "/boxes/x": true,
	} {
		img, err := s.AddImage(t.Context(), Spec{Layers: layers, Config: Config{WorkingDir: dir}}, "")
		if err != nil || (img.Config.WorkingDir == dir) != kept || !kept && img.Config.WorkingDir != "" {
			t.Errorf("%s: %q, %v; kept should be %v", dir, img.Config.WorkingDir, err, kept)
		}
		if has, err := img.Has(t.Context(), img.Config.WorkingDir); err != nil || !has {
			t.Errorf("%s: %q is there: %v, %v", dir, img.Config.WorkingDir, has, err)
		}
	}
}
