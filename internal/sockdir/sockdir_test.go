package sockdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRemove(t *testing.T) {
	for _, tt := range []struct {
		name string
		home func(temp string) error // makes brig-1
		want []string                // what stays, in addition to a foreign directory with a socket
		gone bool                    // that it was not there is said
	}{
		{"with its socket", func(temp string) error {
			return errors.Join(os.Mkdir(temp+"/brig-1", 0o700), os.WriteFile(temp+"/brig-1/brigd.sock", nil, 0o600))
		}, nil, false},
		{"without it", func(temp string) error { return os.Mkdir(temp+"/brig-1", 0o700) }, nil, false},
		{"not there", func(string) error { return nil }, nil, true},
		{"a link to another's", func(temp string) error { return os.Symlink("brig-2", temp+"/brig-1") }, []string{"brig-1"}, false},
		{"a link out of it", func(temp string) error { return os.Symlink(temp+"/brig-2", temp+"/brig-1") }, []string{"brig-1"}, false},
		{"with more in it", func(temp string) error {
			return errors.Join(os.Mkdir(temp+"/brig-1", 0o700), os.WriteFile(temp+"/brig-1/other", nil, 0o600))
		}, []string{"brig-1", "brig-1/other"}, false},
		{"a file", func(temp string) error { return os.WriteFile(temp+"/brig-1", nil, 0o600) }, []string{"brig-1"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			if err := errors.Join(os.Mkdir(temp+"/brig-2", 0o700), os.WriteFile(temp+"/brig-2/brigd.sock", nil, 0o600), tt.home(temp)); err != nil {
				t.Fatal(err)
			}

			err := Remove(filepath.Join(temp, "brig-1", "brigd.sock"))
			if (err == nil) != (tt.want == nil && !tt.gone) || errors.Is(err, fs.ErrNotExist) != tt.gone {
				t.Errorf("it says %v", err)
			}

			var left []string
			if err := fs.WalkDir(os.DirFS(temp), ".", func(path string, _ fs.DirEntry, err error) error {
				left = append(left, path)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if want := slices.Concat([]string{"."}, tt.want, []string{"brig-2", "brig-2/brigd.sock"}); !slices.Equal(left, want) {
				t.Errorf("there are %q; want %q", left, want)
			}
		})
	}
}
