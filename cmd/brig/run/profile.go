package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/engine"
	"github.com/brig-sandbox/brig/seccomp/load"
)

const profileUsage = `
Examine seccomp profiles: which system calls a program may make, and why. A profile is a
built-in tier, or a FILE: in brig's own format (.yaml, see docs/profiles.md), a
linux.seccomp object of OCI, or a seccomp.json of Docker or containers-common (.json),
which is read as for a program without capabilities. No agent is needed.

Usage:
  brig profile ls                     list the built-in tiers
  brig profile show [NAME|FILE]       print the rules
  brig profile explain SYSCALL [--profile NAME|FILE]
                                      show what happens to a call, and why
  brig profile diff A B               list the calls that A and B treat differently
  brig profile export [NAME|FILE]     write OCI JSON, for other runtimes, or YAML

Examples:
  brig profile explain ptrace
  brig profile diff strict default
  brig profile export default > seccomp.json`

// ProfileCommand makes brig profile.
func ProfileCommand(c *cli.CLI) *cobra.Command {
	return c.Group("profile", profileUsage, []cli.Command{
		{Name: "ls", Make: profileList},
		{Name: "show", Make: profileShow},
		{Name: "explain", Make: profileExplain},
		{Name: "diff", Make: profileDiff},
		{Name: "export", Make: profileExport},
	})
}

// loadProfile returns a tier by name, or reads a file, for a program to run under. warnings are
// probable mistakes in the file.
func loadProfile(nameOrFile string) (p seccomp.Profile, warnings []string, err error) {
	r, err := readProfile(nameOrFile)
	if err == nil {
		err = seccomp.Validate(r.Profile)
	}
	return r.Profile, r.warnings, err
}

// A profileRead is a profile as readProfile read it.
type profileRead struct {
	seccomp.Profile
	unknown  []string // calls of the file without a number here; their rules are left out
	warnings []string // of a file: probable mistakes
}

// readProfile is loadProfile for inspection: the profile may be too complex to run under.
func readProfile(nameOrFile string) (profileRead, error) {
	if !cli.IsProfileFile(nameOrFile) {
		p, err := seccomp.Tier(nameOrFile)
		if err != nil {
			err = fmt.Errorf("%w; the name of a profile file ends in .yaml or .json", err)
		}
		return profileRead{Profile: p}, err
	}

	text, err := inputfile.Read(nameOrFile, load.MaxSize)
	if err != nil {
		return profileRead{}, err
	}

	name := filepath.Base(nameOrFile)
	var r profileRead
	if filepath.Ext(nameOrFile) != ".json" {
		r.Profile, r.warnings, err = load.YAML(name, text)
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

// kernelRelease returns the kernel's release, such as 6.1.0-13-amd64, which selects rules of an
// engine's profile.
func kernelRelease() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", os.NewSyscallError("uname", err)
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}

// inspectProfile is readProfile, and prints which calls of the file have no effect here.
func inspectProfile(c *cli.CLI, nameOrFile string) (profileRead, error) {
	r, err := readProfile(nameOrFile)
	if len(r.unknown) > 0 {
		names := strings.Join(r.unknown[:min(len(r.unknown), 4)], ", ")
		if more := len(r.unknown) - 4; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		c.Note("note: %s is read without the calls that have no number here: %s", nameOrFile, terminal.Quote(names))
	}
	return r, err
}

// noteWarnings prints probable mistakes in the profile that a program is to run under: three lines
// at most, since brig profile show prints all of them.
func noteWarnings(c *cli.CLI, file string, warnings []string) {
	for _, w := range warnings[:min(len(warnings), 3)] {
		c.Note("%s: %s", file, w)
	}
	if more := len(warnings) - 3; more > 0 {
		c.Note("%s: %d more warnings: see brig profile show %s", file, more, file)
	}
}

func profileList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("profile ls", `
List the built-in tiers, strictest first.

Usage:
  brig profile ls [--json]

Example:
  brig profile ls`)

	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if *asJSON {
			c.Stdout.Write(cli.Marshal(seccomp.Tiers()))
			return 0
		}
		t := cli.AlignedTable(c.Text())
		for _, name := range seccomp.Tiers() {
			fmt.Fprintf(t, "%s\t%s\n", name, seccomp.About(name))
		}
		if err := t.Flush(); err != nil {
			return c.Fail(err)
		}
		return 0
	})
}

func profileShow(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("profile show", `
Print the rules of a profile, each with its reason.

Usage:
  brig profile show [NAME|FILE] [--json]

Examples:
  brig profile show strict
  brig profile show mine.yaml --json`)

	asJSON := cli.JSONFlag(f)
	return withProfile(c, k, f, func(p profileRead) int {
		if *asJSON {
			c.Stdout.Write(cli.Marshal(p.Profile))
			return 0
		}

		fmt.Fprintf(c.Text(), "profile %s (%s), hash %s\ndefault: %s\nnewer than number %d: %s\n\n", p.Name,
			p.Arch.OrNative(), seccomp.Hash(p.Profile), p.Default,
			seccomp.Newest(p.Arch), seccomp.Fail(seccomp.ENOSYS))
		for _, r := range p.Rules {
			when := ""
			for _, a := range r.Args {
				when += fmt.Sprintf(" when arg%d %s", a.Index, condition(a))
			}
			fmt.Fprintf(c.Text(), "%s%s: %s\n    %s\n", r.Answer, when, r.Why, strings.Join(r.Names, " "))
		}

		for _, w := range p.warnings {
			c.Note("%s", w)
		}
		return 0
	})
}

func condition(a seccomp.ArgCond) string {
	if a.Mask != 0 {
		return fmt.Sprintf("& %#x == %#x", a.Mask, a.Value)
	}
	return fmt.Sprintf("== %#x", a.Value)
}

// withProfile runs a command that takes one profile. If none is named, it is the tier default.
func withProfile(c *cli.CLI, k *cobra.Command, f *pflag.FlagSet, run func(p profileRead) int) *cobra.Command {
	return c.Does(k, func() int {
		w := append(f.Args(), "default")
		if len(w) > 2 {
			return c.Hint(f.Name(), fmt.Errorf("brig %s takes one profile", f.Name()))
		}
		p, err := inspectProfile(c, w[0])
		if err != nil {
			return c.Fail(err)
		}
		return run(p)
	})
}

func profileExplain(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("profile explain", `
Show what happens to a system call, and why.

Usage:
  brig profile explain SYSCALL|NUMBER [--profile NAME|FILE] [--json]

Examples:
  brig profile explain ptrace --profile strict
  brig profile explain 101`)

	which := f.String("profile", "default", "`NAME|FILE` of the profile")
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint(f.Name(), fmt.Errorf("brig profile explain needs one system call, by name or number"))
		}

		p, err := inspectProfile(c, *which)
		if err != nil {
			return c.Fail(err)
		}

		var e seccomp.Explanation
		if nr, notNumber := strconv.ParseInt(f.Arg(0), 10, 32); notNumber == nil {
			e, err = seccomp.ExplainNumber(p.Profile, int32(nr))
		} else {
			if e, err = seccomp.Explain(p.Profile, f.Arg(0)); err != nil {
				err = fmt.Errorf("%w%s", err, suggest.Text(f.Arg(0), callNames()))
			}
		}
		if err != nil {
			return c.Fail(err)
		}
		if *asJSON {
			c.Stdout.Write(cli.Marshal(e))
			return 0
		}

		fmt.Fprintln(c.Text(), strings.TrimRight(e.String(), "\n"))
		return 0
	})
}

// callNames returns the names of this machine's system calls.
func callNames() []string {
	var all []string
	for nr := range seccomp.Newest("") + 1 {
		if name := seccomp.Name(nr, ""); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func profileDiff(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("profile diff", `
List the calls that two profiles treat differently.

Usage:
  brig profile diff A B [--json]

Examples:
  brig profile diff strict default
  brig profile diff default /usr/share/containers/seccomp.json`)

	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 2 {
			return c.Hint(f.Name(), fmt.Errorf("brig profile diff needs two profiles"))
		}

		a, err := inspectProfile(c, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}

		b, err := inspectProfile(c, f.Arg(1))
		if err != nil {
			return c.Fail(err)
		}

		changes := seccomp.Diff(a.Profile, b.Profile)
		if *asJSON {
			c.Stdout.Write(cli.Marshal(slices.Clip(append([]seccomp.Change{}, changes...))))
			return 0
		}

		for _, ch := range changes {
			fmt.Fprintln(c.Text(), ch)
		}
		return 0
	})
}

func profileExport(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("profile export", `
Write a profile as the linux.seccomp object of an OCI bundle. Rules that kill through
brig's listener become rules with which the kernel itself kills. System calls newer than
those that brig knows, for which brig answers ENOSYS, are left to the runtime, because the
format has no range of numbers. runc answers ENOSYS too, above the highest call that the
profile names and its libseccomp knows; other runtimes give the default. --yaml writes
brig's own format instead, with the reasons, which can be changed and used.

Usage:
  brig profile export [NAME|FILE] [--yaml]

Examples:
  brig profile export default > seccomp.json
  brig profile export strict --yaml > mine.yaml`)

	asYAML := f.Bool("yaml", false, "write brig's own format")
	return withProfile(c, k, f, func(p profileRead) int {
		if *asYAML {
			text, err := profileYAML(p.Profile)
			if err != nil {
				return c.Fail(err)
			}
			c.Stdout.Write(text)
			return 0
		}

		o, err := seccomp.ExportOCI(p.Profile)
		if err != nil {
			return c.Fail(err)
		}

		text, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			return c.Fail(err)
		}

		fmt.Fprintf(c.Text(), "%s\n", text)
		return 0
	})
}
