package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/load"
)

const profileUsage = `
Look at seccomp profiles: which system calls a program may make, and why. A
profile is a built-in tier, or a FILE of ours (.yaml) or of OCI's (.json). No
agent is needed.

Usage:
  brig profile ls                     list the built-in tiers
  brig profile show [NAME|FILE]       print the rules
  brig profile explain SYSCALL [--profile NAME|FILE]
                                      what becomes of a call, and why
  brig profile diff A B               the calls A and B treat differently
  brig profile export [NAME|FILE]     as OCI JSON, for other runtimes

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

// loadProfile gives a tier by name, or reads a file.
func loadProfile(nameOrFile string) (seccomp.Profile, error) {
	if !isFile(nameOrFile) {
		p, err := seccomp.Tier(nameOrFile)
		if err != nil {
			err = fmt.Errorf("%w; a file's name ends in .yaml or .json", err)
		}
		return p, err
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return seccomp.Profile{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, load.MaxSize+1))
	if err != nil {
		return seccomp.Profile{}, err
	}
	if len(text) > load.MaxSize {
		return seccomp.Profile{}, fmt.Errorf("%s is over %d bytes: a profile is small", nameOrFile, load.MaxSize)
	}
	name := filepath.Base(nameOrFile)
	if filepath.Ext(nameOrFile) == ".json" {
		return load.OCI(name, text)
	}
	return load.YAML(name, text)
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
	t := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
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
	fmt.Fprintf(c.stdout, "profile %s (%s), hash %s\ndefault: %s\nnewer than number %d: %s\n\n", p.Name, p.Arch.Or(), seccomp.Hash(p), p.Default,
		seccomp.Newest(p.Arch), seccomp.Fail(seccomp.ENOSYS))
	for _, r := range p.Rules {
		when := ""
		for _, a := range r.Args {
			when += fmt.Sprintf(" when arg%d %s", a.Index, condition(a))
		}
		fmt.Fprintf(c.stdout, "%s%s: %s\n    %s\n", r.Answer, when, r.Why, strings.Join(r.Names, " "))
	}
	for _, w := range seccomp.Lint(p) {
		fmt.Fprintf(c.stderr, "brig: %s\n", w)
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
func (c *console) oneProfile(name string, parse func() (int, bool), words func() []string) (p seccomp.Profile, code int, done bool) {
	if code, done := parse(); done {
		return p, code, true
	}
	w := append(words(), "default")
	if len(w) > 2 {
		return p, c.hint(name, fmt.Errorf("brig %s takes one profile", name)), true
	}
	p, err := loadProfile(w[0])
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
	p, err := loadProfile(*which)
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
	fmt.Fprintln(c.stdout, strings.TrimRight(e.String(), "\n"))
	return 0
}

func profileDiff(c *console, args []string) int {
	f := c.flags("profile diff", `
List the calls that two profiles treat differently.

Usage:
  brig profile diff A B [--json]

Example:
  brig profile diff strict default`)
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 2 {
		return c.hint(f.Name(), fmt.Errorf("brig profile diff needs two profiles"))
	}
	a, err := loadProfile(f.Arg(0))
	if err != nil {
		return c.fail(err)
	}
	b, err := loadProfile(f.Arg(1))
	if err != nil {
		return c.fail(err)
	}
	changes := seccomp.Diff(a, b)
	if *asJSON {
		c.stdout.Write(marshal(slices.Clip(append([]seccomp.Change{}, changes...))))
		return 0
	}
	for _, ch := range changes {
		fmt.Fprintln(c.stdout, ch)
	}
	return 0
}

func profileExport(c *console, args []string) int {
	f := c.flags("profile export", `
Write a profile as the linux.seccomp object of an OCI bundle. There, what kills
through brig's listener becomes the kernel's own kill. System calls newer than
those brig knows, for which brig answers ENOSYS, are left to the runtime: the
format has no range of numbers. runc answers ENOSYS too, above the highest call
that the profile names and its libseccomp knows; others give the default.

Usage:
  brig profile export [NAME|FILE]

Example:
  brig profile export default > seccomp.json`)
	p, code, done := c.oneProfile(f.Name(), func() (int, bool) { return c.parse(f, args) }, f.Args)
	if done {
		return code
	}
	o, err := seccomp.ExportOCI(p)
	if err != nil {
		return c.fail(err)
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return c.fail(err)
	}
	fmt.Fprintf(c.stdout, "%s\n", text)
	return 0
}
