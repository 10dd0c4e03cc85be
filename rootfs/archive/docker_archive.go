package archive

import "strings"

// A dockerArchive detects an archive written by docker save, podman save or skopeo. Such an archive
// contains the layers of an image and not a root file system, but would be stored as one. The check
// goes by the names of members: the OCI image layout specification requires oci-layout; docker's
// older format has manifest.json and a layer.tar for each layer.
type dockerArchive struct{ manifest, layer bool }

// detect adds the member e and reports whether the members so far show a docker-save archive.
func (s *dockerArchive) detect(e entry) bool {
	s.manifest = s.manifest || e.Path == "manifest.json"
	s.layer = s.layer || strings.HasSuffix(e.Path, "/layer.tar") && strings.Count(e.Path, "/") == 1
	return e.Kind == kindFile && e.Path == "oci-layout" || s.manifest && s.layer
}

const dockerArchiveReason = "it is a docker-save archive or an OCI layout: it contains layers, not a root file " +
	"system; write it to a file, for brig rootfs import FILE reads such archives, but not from standard input"
