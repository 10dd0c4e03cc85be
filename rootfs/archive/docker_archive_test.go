package archive

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// An archive written by docker save is refused with its format named: stored as a root file system
// it would contain no programs.
func TestDockerArchivesAreRefusedByName(t *testing.T) {
	index := file("index.json", `{"schemaVersion":2}`)
	for _, tt := range []struct {
		name  string
		ms    members
		saved bool
	}{
		{"an OCI layout", members{dir("blobs"), dir("blobs/sha256"), file("blobs/sha256/aa", "x"), index, file("oci-layout", "{}")}, true},
		{"its members begin with ./", members{file("./oci-layout", "{}"), file("./index.json", "{}")}, true},
		{"docker save before 25",
			members{dir("abc"), file("abc/VERSION", "1.0"), file("abc/layer.tar", "x"), file("manifest.json", "[]"),
				file("repositories", "{}")}, true},
		{"its manifest comes first", members{file("manifest.json", "[]"), file("abc/layer.tar", "x")}, true},
		{"docker save from 25 on", members{file("blobs/sha256/aa", "x"), index, file("manifest.json", "[]"), file("oci-layout", "{}")}, true},
		{"such files below a root file system",
			members{dir("usr"), dir("usr/share"), file("usr/share/oci-layout", "x"), file("usr/share/layer.tar", "x")}, false},
		{"a manifest of something else",
			members{file("manifest.json", "{}"), file("index.json", "{}"), dir("a"), dir("a/b"), file("a/b/layer.tar", "x")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			err := admit(bytes.NewReader(tarOf(t, tt.ms...)), &out, wholeTree, Bounds{})
			var r *refusal
			switch {
			case !tt.saved && err != nil:
				t.Errorf("refused: %v", err)
			case tt.saved && (!errors.As(err, &r) || r.kind != kindMalformed || !strings.Contains(r.reason, "brig rootfs import FILE")):
				t.Errorf("%v; want a refusal that says what reads it", err)
			}
		})
	}
}
