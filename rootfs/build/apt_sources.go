package build

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

// An aptSource is one source of Debian packages.
type aptSource struct {
	uri, suite string
	components []string
}

// debianSources returns the sources.list of a build in deb822 form. With a mirror, it names the
// suite on that mirror. Without one, it uses the sources of this host's own apt, with the name of
// the host's release replaced by the suite.
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
		fmt.Fprintf(&out, "Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n", s.uri,
			s.suite, debianKeyring)
	}
	return out.String(), nil
}

// hostSources finds the sources of the host's release in the host's apt, including updates and
// security fixes, and replaces the release by the wanted suite.
func hostSources(etc, suite, release string) ([]aptSource, error) {
	var found []aptSource
	if release != "" {
		all, err := readAptSources(etc)
		if err != nil {
			return nil, err
		}

		for _, s := range all {
			name, rest, _ := strings.Cut(s.suite, "-")
			if name != release && name != "stable" || rest != "" && rest != "updates" && rest != "security" ||
				!slices.Contains(s.components, "main") {
				continue // another archive, or a suite such as backports
			}
			if rest != "" && (suite == "sid" || suite == "unstable") {
				continue // they have neither updates nor security fixes of their own
			}
			s.suite = suite + strings.TrimPrefix(s.suite, name)
			if !slices.ContainsFunc(found, func(f aptSource) bool { return f.uri == s.uri && f.suite == s.suite }) {
				found = append(found, s)
			}
		}
	}

	if len(found) == 0 {
		return nil, errors.New("the apt configuration of this host has no source of Debian packages: set one, for " +
			"example with BRIG_MIRROR=http://MIRROR/debian")
	}
	return found, nil
}

// hostRelease returns the code name of the Debian release that the host runs, or "".
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

// parseDeb822 reads the deb822 form: paragraphs of fields with continuation lines.
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

// aptOptions returns the host's settings for how apt reaches a mirror, mainly proxies. mmdebstrap
// does not use these settings by itself.
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
