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

// loadProfile gives a tier by name, or reads a file, for a program to run under.
func loadProfile(nameOrFile string) (seccomp.Profile, error) {
	p, _, err := readProfile(nameOrFile)
	if err == nil {
		err = seccomp.Validate(p)
	}
	return p, err
}

// readProfile is loadProfile for looking at one, which may be too complex to run under.
// unknown are calls of the file that have no number here, whose rules are left out.
func readProfile(nameOrFile string) (p seccomp.Profile, unknown []string, err error) {
	if !isFile(nameOrFile) {
		p, err := seccomp.Tier(nameOrFile)
		if err != nil {
			err = fmt.Errorf("%w; a file's name ends in .yaml or .json", err)
		}
		return p, nil, err
	}
	text, err := readInput(nameOrFile, load.MaxSize)
	if err != nil {
		return p, nil, err
	}
	name := filepath.Base(nameOrFile)
	if filepath.Ext(nameOrFile) == ".json" {
		kernel, err := kernelRelease()
		if err != nil {
			return p, nil, err
		}
		return engine.Read(name, text, kernel)
	}
	p, err = load.YAML(name, text)
	return p, nil, err
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
func (c *console) lookAt(nameOrFile string) (seccomp.Profile, error) {
	p, unknown, err := readProfile(nameOrFile)
	if len(unknown) > 0 {
		names := strings.Join(unknown[:min(len(unknown), 4)], ", ")
		if more := len(unknown) - 4; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		c.note("note: %s is read without calls that have no number here: %s", nameOrFile, printable(names))
	}
	return p, err
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
		c.stdout.Write(marshal(p))
		return 0
	}
	fmt.Fprintf(c.text(), "profile %s (%s), hash %s\ndefault: %s\nnewer than number %d: %s\n\n", p.Name, p.Arch.Or(), seccomp.Hash(p), p.Default,
		seccomp.Newest(p.Arch), seccomp.Fail(seccomp.ENOSYS))
	for _, r := range p.Rules {
		when := ""
		for _, a := range r.Args {
			when += fmt.Sprintf(" when arg%d %s", a.Index, condition(a))
		}
		fmt.Fprintf(c.text(), "%s%s: %s\n    %s\n", r.Answer, when, r.Why, strings.Join(r.Names, " "))
	}
	ours := tierReasons()
	for _, w := range seccomp.Lint(p) {
		if w.Rule < 0 || !ours[p.Rules[w.Rule].Why] {
			c.note("%s", w)
		}
	}
	return 0
}

// tierReasons are the reasons of the rules of built-in tiers. Those refuse by name, with a
// reason to show, what the default refuses too: nothing to warn of, also not in a file
// that extends one.
func tierReasons() map[string]bool {
	all := map[string]bool{}
	for _, name := range seccomp.Tiers() {
		if p, err := seccomp.Tier(name); err == nil {
			for _, r := range p.Rules {
				all[r.Why] = true
			}
		}
	}
	return all
}

func condition(a seccomp.ArgCond) string {
	if a.Mask != 0 {
		return fmt.Sprintf("& %#x == %#x", a.Mask, a.Value)
	}
	return fmt.Sprintf("== %#x", a.Value)
}

// oneProfile is the frame of a command that takes one profile, default when none
// is named.
func (c *console) oneProfile(name string, parse func() (int, bool), words func() []string) (p seccomp.Profile, code int, done bool) {
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
		e, err = seccomp.ExplainNumber(p, int32(nr))
	} else {
		e, err = seccomp.Explain(p, f.Arg(0))
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
	changes := seccomp.Diff(a, b)
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
		text, err := profileYAML(p)
		if err != nil {
			return c.fail(err)
		}
		c.stdout.Write(text)
		return 0
	}
	o, err := seccomp.ExportOCI(p)
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
