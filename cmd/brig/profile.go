package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/engine"
	"github.com/brig-sandbox/brig/seccomp/load"
)

const profileUsage = `
Look at seccomp profiles: which system calls a program may make, and why. A
profile is a built-in tier, or a FILE: of ours (.yaml, see docs/profiles.md), of
OCI's linux.seccomp, or a seccomp.json of Docker or containers-common (.json), which is
read as for a program without capabilities. No agent is needed.

Usage:
  brig profile ls                     list the built-in tiers
  brig profile show [NAME|FILE]       print the rules
  brig profile explain SYSCALL [--profile NAME|FILE]
                                      what becomes of a call, and why
  brig profile diff A B               the calls A and B treat differently
  brig profile export [NAME|FILE]     as OCI JSON, for other runtimes, or as YAML

Examples:
  brig profile explain ptrace
  brig profile diff strict default
  brig profile export default > seccomp.json`

func profileCommand(c *console, args []string) int {
	return c.subcommands("profile", profileUsage, []command{
		{name: "ls", run: profileList},
		{name: "show", run: profileShow},
		{name: "explain", run: profileExplain},
		{name: "diff", run: profileDiff},
		{name: "export", run: profileExport},
	}, args)
}

// isFile tells a profile's file from the name of one.
func isFile(nameOrFile string) bool {
	ext := filepath.Ext(nameOrFile)
	return strings.Contains(nameOrFile, "/") || ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// loadProfile gives a tier by name, or reads a file, for a program to run under, and
// tells of what in it is probably not meant.
func loadProfile(nameOrFile string) (p seccomp.Profile, warnings []string, err error) {
	r, err := readProfile(nameOrFile)
	if err == nil {
		err = seccomp.Validate(r.Profile)
	}
	return r.Profile, r.warnings, err
}

// A profileRead is a profile as it was read.
type profileRead struct {
	seccomp.Profile
	unknown  []string // calls of the file that have no number here, whose rules are left out
	warnings []string // of a file: what is probably not meant
}

// readProfile is loadProfile for looking at one, which may be too complex to run under.
func readProfile(nameOrFile string) (profileRead, error) {
	if !isFile(nameOrFile) {
		p, err := seccomp.Tier(nameOrFile)
		if err != nil {
			err = fmt.Errorf("%w; a file's name ends in .yaml or .json", err)
		}
		return profileRead{Profile: p}, err
	}
	text, err := readInput(nameOrFile, load.MaxSize)
	if err != nil {
		return profileRead{}, err
	}
	name := filepath.Base(nameOrFile)
	var r profileRead
	if filepath.Ext(nameOrFile) != ".json" {
		r.Profile, r.warnings, err = load.CheckedYAML(name, text)
		return r, err
	}
	kernel, err := kernelRelease()
	if err != nil {
		return r, err
	}
	r.Profile, r.unknown, err = engine.Read(name, text, kernel)
	for _, f := range seccomp.Lint(r.Profile) {
		r.warnings = append(r.warnings, f.String())
	}
	return r, err
}

// kernelRelease is what an engine's profile is chosen by: 6.1.0-13-amd64.
func kernelRelease() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", os.NewSyscallError("uname", err)
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}

// lookAt is readProfile, and says what of the file has no effect here.
func (c *console) lookAt(nameOrFile string) (profileRead, error) {
	r, err := readProfile(nameOrFile)
	if len(r.unknown) > 0 {
		names := strings.Join(r.unknown[:min(len(r.unknown), 4)], ", ")
		if more := len(r.unknown) - 4; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		c.note("note: %s is read without calls that have no number here: %s", nameOrFile, printable(names))
	}
	return r, err
}

// noteWarnings tells, of the profile that a program is to run under, what is probably
// not meant: three lines at most, as brig profile show has them all.
func (c *console) noteWarnings(file string, warnings []string) {
	for _, w := range warnings[:min(len(warnings), 3)] {
		c.note("%s: %s", file, w)
	}
	if more := len(warnings) - 3; more > 0 {
		c.note("%s: %d more warnings: see brig profile show %s", file, more, file)
	}
}

func profileList(c *console, args []string) int {
	f := c.flags("profile ls", `
List the built-in tiers, strictest first.

Usage:
  brig profile ls [--json]

Example:
  brig profile ls`)
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	if *asJSON {
		c.stdout.Write(marshal(seccomp.Tiers()))
		return 0
	}
	t := tabwriter.NewWriter(c.text(), 0, 0, 2, ' ', 0)
	for _, name := range seccomp.Tiers() {
		fmt.Fprintf(t, "%s\t%s\n", name, seccomp.About(name))
	}
	if err := t.Flush(); err != nil {
		return c.fail(err)
	}
	return 0
}

func profileShow(c *console, args []string) int {
	f := c.flags("profile show", `
Print the rules of a profile, each with its reason.

Usage:
  brig profile show [NAME|FILE] [--json]

Examples:
  brig profile show strict
  brig profile show mine.yaml --json`)
	asJSON := f.Bool("json", false, "print JSON")
	p, code, done := c.oneProfile(f.Name(), func() (int, bool) { return c.parse(f, args) }, f.Args)
	if done {
		return code
	}
	if *asJSON {
		c.stdout.Write(marshal(p.Profile))
		return 0
	}
	fmt.Fprintf(c.text(), "profile %s (%s), hash %s\ndefault: %s\nnewer than number %d: %s\n\n", p.Name, p.Arch.Or(), seccomp.Hash(p.Profile), p.Default,
		seccomp.Newest(p.Arch), seccomp.Fail(seccomp.ENOSYS))
	for _, r := range p.Rules {
		when := ""
		for _, a := range r.Args {
			when += fmt.Sprintf(" when arg%d %s", a.Index, condition(a))
		}
		fmt.Fprintf(c.text(), "%s%s: %s\n    %s\n", r.Answer, when, r.Why, strings.Join(r.Names, " "))
	}
	for _, w := range p.warnings {
		c.note("%s", w)
	}
	return 0
}

func condition(a seccomp.ArgCond) string {
	if a.Mask != 0 {
		return fmt.Sprintf("& %#x == %#x", a.Mask, a.Value)
	}
	return fmt.Sprintf("== %#x", a.Value)
}

// oneProfile is the frame of a command that takes one profile, default when none
// is named.
func (c *console) oneProfile(name string, parse func() (int, bool), words func() []string) (p profileRead, code int, done bool) {
	if code, done := parse(); done {
		return p, code, true
	}
	w := append(words(), "default")
	if len(w) > 2 {
		return p, c.hint(name, fmt.Errorf("brig %s takes one profile", name)), true
	}
	p, err := c.lookAt(w[0])
	if err != nil {
		return p, c.fail(err), true
	}
	return p, 0, false
}

func profileExplain(c *console, args []string) int {
	f := c.flags("profile explain", `
Say what becomes of a system call, and why.

Usage:
  brig profile explain SYSCALL|NUMBER [--profile NAME|FILE] [--json]

Examples:
  brig profile explain ptrace --profile strict
  brig profile explain 101`)
	which := f.String("profile", "default", "`NAME|FILE` of the profile")
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 1 {
		return c.hint(f.Name(), fmt.Errorf("brig profile explain needs one system call, by name or number"))
	}
	p, err := c.lookAt(*which)
	if err != nil {
		return c.fail(err)
	}
	var e seccomp.Explanation
	if nr, notNumber := strconv.ParseInt(f.Arg(0), 10, 32); notNumber == nil {
		e, err = seccomp.ExplainNumber(p.Profile, int32(nr))
	} else {
		if e, err = seccomp.Explain(p.Profile, f.Arg(0)); err != nil {
			err = fmt.Errorf("%w%s", err, nearest(f.Arg(0), callNames()))
		}
	}
	if err != nil {
		return c.fail(err)
	}
	if *asJSON {
		c.stdout.Write(marshal(e))
		return 0
	}
	fmt.Fprintln(c.text(), strings.TrimRight(e.String(), "\n"))
	return 0
}

// callNames are those of this machine's system calls.
func callNames() []string {
	var all []string
	for nr := range seccomp.Newest("") + 1 {
		if name := seccomp.Name(nr, ""); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func profileDiff(c *console, args []string) int {
	f := c.flags("profile diff", `
List the calls that two profiles treat differently.

Usage:
  brig profile diff A B [--json]

Examples:
  brig profile diff strict default
  brig profile diff default /usr/share/containers/seccomp.json`)
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 2 {
		return c.hint(f.Name(), fmt.Errorf("brig profile diff needs two profiles"))
	}
	a, err := c.lookAt(f.Arg(0))
	if err != nil {
		return c.fail(err)
	}
	b, err := c.lookAt(f.Arg(1))
	if err != nil {
		return c.fail(err)
	}
	changes := seccomp.Diff(a.Profile, b.Profile)
	if *asJSON {
		c.stdout.Write(marshal(slices.Clip(append([]seccomp.Change{}, changes...))))
		return 0
	}
	for _, ch := range changes {
		fmt.Fprintln(c.text(), ch)
	}
	return 0
}

func profileExport(c *console, args []string) int {
	f := c.flags("profile export", `
Write a profile as the linux.seccomp object of an OCI bundle. There, what kills
through brig's listener becomes the kernel's own kill. System calls newer than
those brig knows, for which brig answers ENOSYS, are left to the runtime: the
format has no range of numbers. runc answers ENOSYS too, above the highest call
that the profile names and its libseccomp knows; others give the default. --yaml
writes it in brig's own form instead, with the reasons, to be changed and used.

Usage:
  brig profile export [NAME|FILE] [--yaml]

Examples:
  brig profile export default > seccomp.json
  brig profile export strict --yaml > mine.yaml`)
	asYAML := f.Bool("yaml", false, "write brig's own form")
	p, code, done := c.oneProfile(f.Name(), func() (int, bool) { return c.parse(f, args) }, f.Args)
	if done {
		return code
	}
	if *asYAML {
		text, err := profileYAML(p.Profile)
		if err != nil {
			return c.fail(err)
		}
		c.stdout.Write(text)
		return 0
	}
	o, err := seccomp.ExportOCI(p.Profile)
	if err != nil {
		return c.fail(err)
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return c.fail(err)
	}
	fmt.Fprintf(c.text(), "%s\n", text)
	return 0
}
