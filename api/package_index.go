package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A PackageIndex is where packages come from.
type PackageIndex struct {
	URL  string
	Host AllowRule // that serves it, with its port
}

// ParseIndex parses the URL of an index: http or https, a host, perhaps a port and a path. Names with
// passwords are refused: the URL is part of what brig shows.
func ParseIndex(text string) (PackageIndex, error) {
	bad := func(why string) (PackageIndex, error) {
		return PackageIndex{},
			Refuse(CodeBadRequest, "index %.100q: %s: write a URL such as https://pypi.org/simple", text, why)
	}
	if len(text) > 1024 || strings.IndexFunc(text,
		func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`\\$;&|<>(){}", c) }) >= 0 {
		return bad("it is too long, or has characters that a URL does not need")
	}

	u, err := url.Parse(text)
	switch {
	case err != nil:
		return bad("it cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("it begins neither with https:// nor with http://")
	case u.User != nil:
		return bad("a name and a password are not allowed in it")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("it has a query or a fragment")
	}

	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return bad("its port is no number")
	}

	rule, err := ParseAllow(u.Hostname() + ":" + port)
	if err != nil || rule.Below {
		return bad("its host is not a name or an IPv4 address")
	}
	return PackageIndex{URL: text, Host: rule}, nil
}

// PackageHosts are what an installer may reach: the index, and other hosts of its operator.
func PackageHosts(index PackageIndex, others []string) ([]AllowRule, error) {
	rules, err := AllowRules(others)
	return append([]AllowRule{index.Host}, rules...), err
}

// LanguagePackages says how packages are installed for a language.
type LanguagePackages struct {
	Kind   PackageKind `json:"kind" doc:"the kind of packages"`
	Image  string      `json:"image" doc:"name of the image with the installer"`
	Stored bool        `json:"stored" doc:"whether that image is stored"`
	Index  string      `json:"index" doc:"URL of the index, where the caller names none"`
	Hosts  []string    `json:"hosts,omitempty" doc:"further hosts of that index"`
	Wall   Duration    `json:"wall,omitempty" doc:"the longest time that the installer may take"`
}

// IndexFor returns the index for an installation, and what the installer may reach. Another index than
// the language's own has no further hosts.
func (p LanguagePackages) IndexFor(wanted string) (PackageIndex, []AllowRule, error) {
	others := p.Hosts
	if wanted == "" {
		wanted = p.Index
	} else if wanted != p.Index {
		others = nil
	}
	index, err := ParseIndex(wanted)
	if err != nil {
		return index, nil, err
	}
	rules, err := PackageHosts(index, others)
	return index, rules, err
}

// A PackageRequest asks an agent to install a set of packages. The caller relays the connections of the
// installer.
type PackageRequest struct {
	Language     string   `json:"language" doc:"name or alias of the language"`
	Requirements []string `json:"requirements" doc:"the packages, as in a run"`
	Index        string   `json:"index,omitempty" doc:"URL of the index; empty: the language's"`
}

// Validate refuses a request that no agent could carry out. The requirements are checked when the
// language is known.
func (r PackageRequest) Validate() error {
	switch {
	case r.Language == "":
		return Refuse(CodeBadRequest, "language is empty: packages are installed for a language")
	case len(r.Requirements) == 0:
		return Refuse(CodeBadRequest, "requirements is empty: name at least one package")
	}
	return validateRequirements(r.Language, "", r.Requirements, r.Index)
}

// validateRequirements checks what can be checked without the language.
func validateRequirements(language, image string, requirements []string, index string) error {
	switch {
	case len(requirements) == 0 && index != "":
		return Refuse(CodeBadRequest, "index is set, and requirements is not: leave it out")
	case len(requirements) == 0:
		return nil
	case language == "":
		return Refuse(CodeBadRequest, "requirements need a language: set language")
	case image != "":
		return Refuse(CodeBadRequest, "requirements need the language's own image: leave image out")
	case len(requirements) > RequirementsMax:
		return Refuse(CodeBadRequest, "there are %d requirements: the maximum is %d", len(requirements), RequirementsMax)
	}

	if slices.ContainsFunc(requirements, func(r string) bool { return len(r) > RequirementBytes }) {
		return Refuse(CodeBadRequest, "a requirement has more than %d bytes", RequirementBytes)
	}
	if index == "" {
		return nil
	}

	_, err := ParseIndex(index)
	return err
}

// A PackageSet is an installed set of packages, as it is stored.
type PackageSet struct {
	Key          string      `json:"key" doc:"a hash of all that the set depends on: images, installer, index, requirements and owner"`
	Language     string      `json:"language" doc:"the language that it was installed for"`
	Kind         PackageKind `json:"kind" doc:"the kind of packages"`
	Requirements []string    `json:"requirements" doc:"what was asked for, in its normal form"`
	Installed    []string    `json:"installed,omitempty" doc:"name and version of each package, as the installer lists them"`
	Index        string      `json:"index,omitempty" doc:"the index that they came from; a service does not say"`
	Owner        uint32      `json:"owner,omitempty" doc:"user id of the caller who had them installed; absent: root, whose sets serve every caller; a service does not say"`
	Size         int64       `json:"size_bytes" doc:"bytes on disk, with names and records"`
	Files        int64       `json:"files" doc:"number of files and directories"`
	Created      string      `json:"created,omitempty" doc:"when they were installed, RFC 3339, UTC; a service does not say"`
	Used         string      `json:"used,omitempty" doc:"when a run last asked for them, RFC 3339, UTC, to the minute; a service does not say"`
	Cached       bool        `json:"cached,omitempty" doc:"the set was there already"`
}
