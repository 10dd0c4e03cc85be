package rootfs

import "strings"

// A saved looks for an image as docker save, podman save and skopeo write it: an archive
// of layers, which unpacked is no root file system and would be stored as one. It goes
// by the names at the top: oci-layout is there by the OCI image layout specification;
// docker's older form has manifest.json and a layer.tar for each layer.
type saved struct{ manifest, layer bool }

// sees reports whether the member e, with those before it, shows a saved image.
func (s *saved) sees(e entry) bool {
	s.manifest = s.manifest || e.Path == "manifest.json"
	s.layer = s.layer || strings.HasSuffix(e.Path, "/layer.tar") && strings.Count(e.Path, "/") == 1
	return e.Kind == kindFile && e.Path == "oci-layout" || s.manifest && s.layer
}

const savedReason = "it is a saved image (docker save, or an OCI layout): archives of layers, not a root file system; make one with: docker export $(docker create IMAGE) >image.tar"
