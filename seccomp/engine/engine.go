// Package engine reads the seccomp profiles of container engines: the seccomp.json of
// Docker (Moby) and of containers-common (Podman, CRI-O, Buildah). The format is the
// linux.seccomp object of OCI, with entries that depend on capability, machine and
// kernel; the engine selects them for each container. This package selects them for a
// program of brig's: no capability, this machine, one kernel.
//
// It parses untrusted text in a foreign dialect, so the agent, which runs as root, does
// not import it (internal/archtest); the command line does.
package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/load"
)

// profile is the file. It includes fields that brig does not use, so that they are
// distinguished from misspelt ones.
type profile struct {
	DefaultAction   string      `json:"defaultAction"`
	DefaultErrno    string      `json:"defaultErrno"` // containers-common: by name
	DefaultErrnoRet *uint       `json:"defaultErrnoRet"`
	Architectures   []string    `json:"architectures"`
	ArchMap         []archEntry `json:"archMap"`
	Syscalls        []syscall   `json:"syscalls"`

	Flags            []string `json:"flags"`
	ListenerPath     string   `json:"listenerPath"`
	ListenerMetadata string   `json:"listenerMetadata"`
}

type archEntry struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

type syscall struct {
	Name     string           `json:"name"` // Docker before 1.13: one
	Names    []string         `json:"names"`
	Action   string           `json:"action"`
	Errno    string           `json:"errno"` // containers-common: by name
	ErrnoRet *uint            `json:"errnoRet"`
	Args     []seccomp.OCIArg `json:"args"`
	Comment  string           `json:"comment"`
	Includes choice           `json:"includes"`
	Excludes choice           `json:"excludes"`
}

// A choice says to which containers an entry applies.
type choice struct {
	Caps      []string `json:"caps"`
	Arches    []string `json:"arches"`    // as Go has them: amd64
	MinKernel string   `json:"minKernel"` // such as 4.8
}

// Read reads a profile as it applies to a program without capabilities on this machine,
// under a kernel such as 6.1.0-13-amd64. It also accepts an OCI object without choices.
// unknown lists the calls for which brig has no number: calls of other machines or calls
// newer than brig's tables. Rules for them are left out.
//
// The profile need not pass seccomp.Validate: see load.Convert.
func Read(name string, data []byte, kernel string) (p seccomp.Profile, unknown []string, err error) {
	if len(data) > load.MaxSize {
		return p, nil, fmt.Errorf("read profile %s: %d bytes; at most %d", name, len(data), load.MaxSize)
	}

	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f profile
	if err := dec.Decode(&f); err != nil {
		line := 1 + bytes.Count(data[:min(dec.InputOffset(), int64(len(data)))], []byte("\n"))
		return p, nil, fmt.Errorf("read profile %s: line %d: %w; the linux.seccomp object of OCI is read, and the "+
			"profiles of Docker and containers-common", name, line, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return p, nil, fmt.Errorf("read profile %s: something follows the JSON object", name)
	}

	o, entries, unknown, err := f.choose(kernel)
	if err == nil {
		p, err = load.Convert(name, o, entries)
	}
	if err != nil {
		return p, nil, fmt.Errorf("read profile %s: %w", name, err)
	}
	return p, unknown, nil
}

// choose selects the entries that apply under kernel.
func (f profile) choose(kernel string) (o seccomp.OCI, entries, unknown []string, err error) {
	switch {
	case f.ListenerPath != "" || f.ListenerMetadata != "":
		return o, nil, nil, errors.New("listenerPath: the kernel allows one listener, which the agent needs")
	case len(f.Flags) > 0:
		return o, nil, nil, fmt.Errorf("flags: %q cannot be set by a profile; remove flags", f.Flags)
	case len(f.Architectures) > 0 && len(f.ArchMap) > 0:
		return o, nil, nil, errors.New("architectures and archMap exclude each other")
	}

	o.DefaultAction, o.Architectures = f.DefaultAction, f.Architectures

	// The sub-architectures of an entry are left out: no compatibility ABI is allowed.
	for _, a := range f.ArchMap {
		o.Architectures = append(o.Architectures, a.Architecture)
	}

	if o.DefaultErrnoRet, err = errnoOf(f.DefaultErrno, f.DefaultErrnoRet); err != nil {
		return o, nil, nil, fmt.Errorf("defaultErrno: %w", err)
	}

	for i, s := range f.Syscalls {
		applies, err := s.applies(kernel)
		if err != nil {
			return o, nil, nil, fmt.Errorf("syscalls[%d]: %w", i, err)
		}
		if !applies {
			continue
		}

		c := seccomp.OCISyscall{Action: s.Action, Args: s.Args}
		if c.ErrnoRet, err = errnoOf(s.Errno, s.ErrnoRet); err != nil {
			return o, nil, nil, fmt.Errorf("syscalls[%d]: %w", i, err)
		}
		if s.Name != "" {
			s.Names = append(s.Names, s.Name)
		}

		for _, n := range s.Names {
			if _, known := seccomp.Number(n, seccomp.Arch("").OrNative()); known {
				c.Names = append(c.Names, n)
			} else if !slices.Contains(unknown, n) {
				unknown = append(unknown, n)
			}
		}

		// Entries and reasons have the same indexes: load.Convert finds the reason of an entry by its index.
		if len(c.Names) > 0 {
			o.Syscalls = append(o.Syscalls, c)
			entries = append(entries, s.why(i))
		}
	}

	return o, entries, unknown, nil
}

// why is the reason of the rules of entry i.
func (s syscall) why(i int) string {
	why := fmt.Sprintf("entry %d of the file", i)
	if c := strings.Join(strings.FieldsFunc(s.Comment, func(r rune) bool { return !strconv.IsPrint(r) }), " "); c != "" {
		why += fmt.Sprintf(": %.150s", c)
	}
	return strings.ToValidUTF8(why, "")
}

// applies reports whether an entry is for a program without capabilities on this
// machine, under kernel.
func (s syscall) applies(kernel string) (bool, error) {
	machine := string(seccomp.Arch("").OrNative())
	newer := func(than string) (bool, error) {
		if than == "" {
			return true, nil
		}
		want, err := version(than)
		if err != nil {
			return false, fmt.Errorf("minKernel: %w", err)
		}
		have, err := version(kernel)
		return slices.Compare(have, want) >= 0, err
	}

	in, err := newer(s.Includes.MinKernel)
	if err != nil {
		return false, err
	}

	out, err := newer(s.Excludes.MinKernel)
	if err != nil {
		return false, err
	}

	switch {
	case len(s.Includes.Caps) > 0, // the program has no capability, so excludes by capability never apply to it
		len(s.Includes.Arches) > 0 && !slices.Contains(s.Includes.Arches, machine),
		slices.Contains(s.Excludes.Arches, machine),
		!in,
		out && s.Excludes.MinKernel != "":
		return false, nil
	}

	return true, nil
}

// version parses the first two numbers of a kernel release.
func version(release string) ([]int, error) {
	major, rest, _ := strings.Cut(release, ".")
	minor := rest
	if i := strings.IndexFunc(minor, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = minor[:i]
	}
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err = errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("kernel version %.40q: write one such as 4.8", release)
	}
	return []int{a, b}, nil
}

// errnoOf merges the two ways of writing an error number; they must agree.
func errnoOf(name string, number *uint) (*uint, error) {
	if name == "" {
		return number, nil
	}
	var e seccomp.Errno
	if err := e.UnmarshalText([]byte(name)); err != nil {
		return nil, err
	}
	n := uint(e)
	if number != nil && *number != n {
		return nil, fmt.Errorf("errno %s is %d, and errnoRet is %d", name, n, *number)
	}
	return &n, nil
}
