package rootfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// A source is one place Debian packages come from.
type aptSource struct {
	uri, suite string
	components []string
}

// debianSources writes the sources.list of a build in deb822 form. With a mirror
// that is the suite there; without, it is what this host's own apt uses for its
// release, with the release's name replaced.
func debianSources(suite, mirror string) (string, error) {
	if _, err := os.Stat(debianKeyring); err != nil {
		return "", errors.New("the keys of the Debian archive are missing: install them with: apt-get install debian-archive-keyring")
	}
	if strings.ContainsAny(mirror, " \t\r\n") {
		return "", fmt.Errorf("mirror %q: write one address, such as http://MIRROR/debian", mirror)
	}
	sources := []aptSource{{mirror, suite, []string{"main"}}}
	if mirror == "" {
		var err error
		if sources, err = hostSources("/etc/apt", suite, hostRelease("/etc/os-release")); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&out, "Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n", s.uri, s.suite, debianKeyring)
	}
	return out.String(), nil
}

// hostSources finds where the host's apt gets its own release from, its updates
// and security fixes included, and names the wanted suite in their place.
func hostSources(etc, suite, release string) ([]aptSource, error) {
	var found []aptSource
	if release != "" {
		all, err := readAptSources(etc)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			name, rest, _ := strings.Cut(s.suite, "-")
			if name != release && name != "stable" || rest != "" && rest != "updates" && rest != "security" || !slices.Contains(s.components, "main") {
				continue // some other archive, or the likes of backports
			}
			s.suite = suite + strings.TrimPrefix(s.suite, name)
			if !slices.ContainsFunc(found, func(f aptSource) bool { return f.uri == s.uri && f.suite == s.suite }) {
				found = append(found, s)
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("this host's apt has no source of Debian packages: name one, as in BRIG_MIRROR=http://MIRROR/debian")
	}
	return found, nil
}

// hostRelease is the code name of the Debian release the host runs, or "".
func hostRelease(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		fields[key] = strings.Trim(value, `"'`)
	}
	if fields["ID"] != "debian" {
		return ""
	}
	return fields["VERSION_CODENAME"]
}

func readAptSources(etc string) ([]aptSource, error) {
	lists, err1 := filepath.Glob(filepath.Join(etc, "sources.list.d/*.list"))
	deb822, err2 := filepath.Glob(filepath.Join(etc, "sources.list.d/*.sources"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	var all []aptSource
	for _, path := range append([]string{filepath.Join(etc, "sources.list")}, append(lists, deb822...)...) {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read apt's sources: %w", err)
		}
		if strings.HasSuffix(path, ".sources") {
			all = append(all, parseDeb822(string(text))...)
		} else {
			all = append(all, parseList(string(text))...)
		}
	}
	return all, nil
}

// parseList reads the one-line form (sources.list(5)): deb [options] uri suite
// component...
func parseList(text string) []aptSource {
	var all []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if i, j := strings.IndexByte(line, '['), strings.IndexByte(line, ']'); i >= 0 && j > i {
			line = line[:i] + line[j+1:]
		}
		if f := strings.Fields(line); len(f) >= 4 && f[0] == "deb" {
			all = append(all, aptSource{f[1], f[2], f[3:]})
		}
	}
	return all
}

// parseDeb822 reads the other one: paragraphs of fields with continuation lines.
func parseDeb822(text string) []aptSource {
	var all []aptSource
	fields, last := make(map[string][]string), ""
	flush := func() {
		off := slices.Contains(fields["enabled"], "no")
		for _, uri := range fields["uris"] {
			for _, suite := range fields["suites"] {
				if slices.Contains(fields["types"], "deb") && !off {
					all = append(all, aptSource{uri, suite, fields["components"]})
				}
			}
		}
		clear(fields)
	}
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		line := sc.Text()
		key, value, ok := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			fields[last] = append(fields[last], strings.Fields(line)...)
		case ok:
			last = strings.ToLower(key)
			fields[last] = strings.Fields(value)
		}
	}
	flush()
	return all
}

// aptOptions are the host's settings for how apt reaches a mirror, proxies above
// all; mmdebstrap does not take them over by itself.
func aptOptions(ctx context.Context) []string {
	dump, err := exec.CommandContext(ctx, "apt-config", "dump", "--format", `%f "%v";%n`, "Acquire").Output()
	if err != nil {
		return nil // apt's own defaults
	}
	var opts []string
	for line := range strings.Lines(string(dump)) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"Acquire::http::", "Acquire::https::", "Acquire::Check-", "Acquire::Retries "} {
			if strings.HasPrefix(strings.ToLower(line), strings.ToLower(prefix)) && !strings.HasSuffix(line, ` "";`) {
				opts = append(opts, line)
			}
		}
	}
	return opts
}
