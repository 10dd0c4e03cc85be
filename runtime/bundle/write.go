package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	oci "github.com/opencontainers/runtime-spec/specs-go"
)

// Write makes the directory dir with config.json and a copy of the image's tree. dir must not
// exist; after an error it does not exist either.
func Write(dir, tree string, spec *oci.Spec) (err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make bundle: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write bundle: %w", err), os.RemoveAll(dir))
		}
	}()

	from, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer from.Close()

	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()

	if err := to.Chmod(".", 0o755); err != nil { // despite the umask: the container's root must enter it
		return err
	}

	config, err := json.MarshalIndent(spec, "", "\t")
	if err != nil {
		return err
	}
	if err := to.WriteFile("config.json", append(config, '\n'), 0o644); err != nil {
		return err
	}
	if err := to.Mkdir(Root, 0o755); err != nil {
		return err
	}

	into, err := to.OpenRoot(Root)
	if err != nil {
		return err
	}
	defer into.Close()

	return copyTree(into, from)
}

// copyTree copies directories, regular files and symbolic links with their modes; a stored image
// has no other members. Directories get their modes last, because a directory may be unwritable.
func copyTree(to, from *os.Root) error {
	modes := map[string]fs.FileMode{}
	err := fs.WalkDir(from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		switch {
		case d.IsDir():
			modes[name] = info.Mode().Perm() | info.Mode()&fs.ModeSticky
			if name == "." {
				return nil
			}
			return to.Mkdir(name, 0o700)

		case d.Type() == fs.ModeSymlink:
			target, err := from.Readlink(name)
			if err != nil {
				return err
			}
			return to.Symlink(target, name)

		case d.Type().IsRegular():
			return copyFile(to, from, name, info.Mode().Perm())
		}

		return fmt.Errorf("copy %s: it is not a directory, a file or a link", name)
	})
	if err != nil {
		return err
	}

	for name, mode := range modes {
		if err := to.Chmod(name, mode); err != nil {
			return err
		}
	}

	return nil
}

func copyFile(to, from *os.Root, name string, mode fs.FileMode) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()

	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(mode)
	}
	return errors.Join(err, out.Close())
}
