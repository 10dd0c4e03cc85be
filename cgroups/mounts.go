package cgroups

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A mount is one line of /proc/self/mountinfo that shows a control group hierarchy.
type mount struct {
	root    string // the group that is visible at dir
	dir     string
	unified bool
	options []string // of the superblock: controller names among them
}

// parseMounts picks the control group mounts out of mountinfo. Lines that do not
// parse are skipped: the kernel adds optional fields as it likes.
func parseMounts(info []byte) []mount {
	var out []mount
	for line := range bytes.Lines(info) {
		left, right, ok := strings.Cut(strings.TrimSpace(string(line)), " - ")
		at, fs := strings.Fields(left), strings.Fields(right)
		if !ok || len(at) < 6 || len(fs) < 3 || (fs[0] != "cgroup" && fs[0] != "cgroup2") {
			continue
		}
		out = append(out, mount{
			root: unescape(at[3]), dir: unescape(at[4]),
			unified: fs[0] == "cgroup2", options: strings.Split(fs[2], ","),
		})
	}
	return out
}

// unescape undoes the octal escapes the kernel writes for space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// locate matches mounts with the groups of /proc/self/cgroup: own by controller
// (or name=...) for version 1, unified for cgroup2. A hierarchy mounted twice
// counts once, at the first mount that shows our own group.
func locate(mounts []mount, own map[string]string, unified string) []Hierarchy {
	var out []Hierarchy
	var seen []string
	for _, m := range mounts {
		group, names, key := unified, []string(nil), "cgroup2"
		if !m.unified {
			for _, o := range m.options {
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
		out = append(out, Hierarchy{Mount: m.dir, Own: dir, Controllers: names, Unified: m.unified})
	}
	return out
}

// below returns the directory that shows group. A mount made outside our cgroup
// namespace has a root like "/..": the group cannot be found through it.
func below(m mount, group string) (string, bool) {
	if group == "" || strings.HasPrefix(m.root, "/..") || strings.HasPrefix(group, "/..") {
		return "", false
	}
	root := strings.TrimSuffix(m.root, "/")
	if group != root && !strings.HasPrefix(group, root+"/") {
		return "", false
	}
	return path.Join(m.dir, strings.TrimPrefix(group, root)), true
}
