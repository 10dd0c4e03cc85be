package archive

import (
	"path"
	"strings"
)

// A layer says what the layers below it have no more, by members with special names (OCI image-spec
// 1.1, layer.md): ".wh.NAME" removes NAME, and ".wh..wh..opq" hides all that they have in its
// directory. Other names that begin with ".wh..wh." are notes of a storage driver of old, aufs.
const (
	whiteoutPrefix = ".wh."
	whiteoutNotes  = ".wh..wh."
	whiteoutOpaque = ".wh..wh..opq"
)

// admitWhiteout returns the entry for a member that is a whiteout, or a reason to skip the member. It
// returns neither for any other member. name is the cleaned name. What a whiteout removes is a name in
// the directory of the whiteout, and no other (IMG-25).
func admitWhiteout(member, name string) (e entry, skip string, err error) {
	dir, base := path.Split(name)
	rest, whiteout := strings.CutPrefix(base, whiteoutPrefix)
	switch {
	case strings.Contains("/"+dir, "/"+whiteoutPrefix):
		return entry{}, "", unsafeMember(member, "is below a whiteout, which is no directory")
	case !whiteout:
		return entry{}, "", nil
	case base == whiteoutOpaque:
		return entry{Kind: kindOpaque, Path: strings.TrimSuffix(dir, "/")}, "", nil
	case strings.HasPrefix(base, whiteoutNotes):
		return entry{}, "a note of a storage driver", nil
	case rest == "" || rest == "." || rest == "..":
		return entry{}, "", unsafeMember(member, "is a whiteout of %q, which is no name", rest)
	}

	return entry{Kind: kindWhiteout, Path: dir + rest}, "", nil
}

// admitLayerMode is admitMode for layers. Layers are shared between images of different users, so what
// the owner of a file may read and execute everybody may. Otherwise the program, which is uid 1000,
// could not read what belongs to the image's own user, which is usually root.
func admitLayerMode(mode int64) uint16 {
	m := uint16(mode) & 0o755
	return m | m>>3&0o50 | m>>6&0o5
}
