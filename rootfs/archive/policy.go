package archive

import (
	"archive/tar"
	"fmt"
	"math"
	"strings"
)

// decide applies the admission policy to one member. It returns the entry to write, or a reason to
// skip it, or a refusal that ends the import. It reads only the header: the unpacker, which works
// with directory handles, checks what depends on earlier members (a hard link's target, a link used
// as a parent).
//
// Entries have no fields for owners and extended attributes, and thus for file capabilities, so
// these are dropped (IMG-11, IMG-12). Whiteouts are files like any other (IMG-13), except in layers.
func (k kind) decide(h *tar.Header) (e entry, skip string, err error) {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return entry{}, "a header for all members, such as the commit that git archive writes", checkGlobal(h)
	case typeLabel:
		return entry{}, "the name of the archive", nil
	}

	name, err := cleanName(h.Name)
	if err != nil {
		return entry{}, "", unsafeMember(h.Name, "%v", err)
	}
	if name == "" {
		if h.Typeflag != tar.TypeDir && h.Typeflag != typeDumpDir {
			return entry{}, "", unsafeMember(h.Name, "replaces the root directory")
		}
		return entry{}, "the root directory is brig's own", nil
	}
	if h.Uid < 0 || h.Gid < 0 {
		return entry{}, "", unsafeMember(h.Name, "has the owner %d:%d", h.Uid, h.Gid)
	}
	if strings.HasPrefix(name, "dev/") {
		// Distributions ship device nodes in /dev; a cell mounts its own /dev over it.
		return entry{}, "a cell has its own /dev", nil
	}

	e = entry{Path: name, Mode: admitMode(h.Mode, h.Uid), MTime: admitTime(h)}
	if k == layerTree {
		if e, skip, err := admitWhiteout(h.Name, name); e.Kind != 0 || skip != "" || err != nil {
			return e, skip, err
		}
		if h.Typeflag == tar.TypeFifo {
			return entry{}, "a program makes its own named pipes", nil
		}
		e.Mode = admitLayerMode(h.Mode)
	}

	switch h.Typeflag {
	case tar.TypeDir, typeDumpDir: // the content of a dump directory is a list of names
		e.Kind = kindDir
	case tar.TypeReg, '\x00', tar.TypeCont, tar.TypeGNUSparse:
		e.Kind, e.Size = kindFile, h.Size
	case tar.TypeSymlink:
		e.Kind, e.Link = kindSymlink, h.Linkname
		// Any target is safe: both brig and the cell resolve it inside the tree.
		if err := checkTarget(h.Linkname); err != nil {
			return entry{}, "", unsafeMember(h.Name, "is a symbolic link that %v", err)
		}

	case tar.TypeLink:
		target, err := cleanName(h.Linkname)
		if err != nil || target == "" {
			return entry{}, "", unsafeMember(h.Name, "is a hard link to %q, which is outside the image", h.Linkname)
		}
		e.Kind, e.Link = kindHardlink, target

	default:
		return entry{}, "", unsafeMember(h.Name, "is a %s", typeName(h.Typeflag))
	}

	return e, "", nil
}

// cleanName makes a member's name relative to the root of the tree. Like tar, it removes leading
// slashes. It refuses ".." anywhere in the name. The empty name is the root.
func cleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("has a name of %d bytes: the limit is %d", len(name), maxPath)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", fmt.Errorf("has a NUL in its name")
	}

	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return "", fmt.Errorf("has \"..\" in its name")
		case len(part) > maxComponent:
			return "", fmt.Errorf("has a path component of %d bytes: the limit is %d", len(part), maxComponent)
		default:
			parts = append(parts, part)
		}
	}

	if len(parts) > maxDepth {
		return "", fmt.Errorf("is %d directories deep: the limit is %d", len(parts), maxDepth)
	}
	return strings.Join(parts, "/"), nil
}

func checkTarget(target string) error {
	switch {
	case target == "":
		return fmt.Errorf("has no target")
	case len(target) > maxPath:
		return fmt.Errorf("has a target of %d bytes: the limit is %d", len(target), maxPath)
	case strings.IndexByte(target, 0) >= 0:
		return fmt.Errorf("has a NUL in its target")
	}
	return nil
}

// admitMode keeps the permission bits. It clears setuid, setgid and sticky (IMG-11), and write
// permission for all but the owner, which becomes root (IMG-23). A file that belonged to uid 1000
// stays readable and executable for uid 1000, because programs run as uid 1000.
func admitMode(mode int64, uid int) uint16 {
	m := uint16(mode) & 0o755
	if uid == 1000 {
		m |= m >> 6 & 0o5
	}
	return m
}

// admitTime returns the member's modification time in nanoseconds since 1970, or zero for times
// before 1970 or after 2262.
func admitTime(h *tar.Header) int64 {
	sec := h.ModTime.Unix()
	if sec < 0 || sec >= math.MaxInt64/1_000_000_000 {
		return 0
	}
	return h.ModTime.UnixNano()
}

// Types of GNU tar that package tar does not name (tar.h of GNU tar 1.35).
const (
	typeDumpDir   = 'D' // a directory, of tar --listed-incremental
	typeContinued = 'M' // the rest of a file, of tar --multi-volume
	typeLabel     = 'V' // no member, of tar --label
)

// checkGlobal refuses a global header that changes the name, the target, the size or the content of
// the members after it: package tar does not apply those. The others say nothing that an image keeps.
func checkGlobal(h *tar.Header) error {
	for key := range h.PAXRecords {
		if key == "path" || key == "linkpath" || key == "size" || strings.HasPrefix(key, "GNU.sparse.") {
			return unsafeMember(h.Name, "is a global header that sets %q of all members: write it for each member", key)
		}
	}
	return nil
}

func typeName(flag byte) string {
	switch flag {
	case typeContinued:
		return "part of a file that began in another volume: join the volumes"
	case tar.TypeChar:
		return "character device: remove it from the archive"
	case tar.TypeBlock:
		return "block device: remove it from the archive"
	case tar.TypeFifo:
		return "named pipe: remove it from the archive"
	}
	return fmt.Sprintf("member of the unknown type %q: write the archive with tar --format=pax", flag)
}
