package cgroups

import (
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// locate matches mounts of types cgroup and cgroup2 with the groups of /proc/self/cgroup: own by controller
// (or name=...) for version 1, unified for cgroup2. A hierarchy mounted twice
// counts once, at the first mount that shows our own group.
func locate(mounts []*mountinfo.Info, own map[string]string, unified string) []Hierarchy {
	var out []Hierarchy
	var seen []string
	for _, m := range mounts {
		group, names, key := unified, []string(nil), "cgroup2"
		isV2 := m.FSType == "cgroup2"
		if !isV2 {
			for o := range strings.SplitSeq(m.VFSOptions, ",") {
				if g, ok := own[o]; ok {
					names, group = append(names, o), g
				}
			}
			if names == nil {
				continue
			}
			key = names[0]
		}

		dir, ok := below(m, group)
		if !ok || slices.Contains(seen, key) {
			continue
		}

		seen = append(seen, key)
		out = append(out, Hierarchy{Mount: m.Mountpoint, Own: dir, Controllers: names, Unified: isV2})
	}

	return out
}

// below returns the directory that shows group. A mount made outside our cgroup
// namespace has a root like "/..": the group cannot be found through it.
func below(m *mountinfo.Info, group string) (string, bool) {
	if group == "" || strings.HasPrefix(m.Root, "/..") || strings.HasPrefix(group, "/..") {
		return "", false
	}
	root := strings.TrimSuffix(m.Root, "/")
	if group != root && !strings.HasPrefix(group, root+"/") {
		return "", false
	}
	return path.Join(m.Mountpoint, strings.TrimPrefix(group, root)), true
}
