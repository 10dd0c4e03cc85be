// Package remedies says what to write instead of flags and commands that other programs have and brig does not.
package remedies

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/internal/usage"
)

// A Remedy says what to write instead of flags that other programs have and brig does not.
type Remedy struct {
	Flags    string // the flags, without dashes, one space between them; one letter is a short flag
	Requires string // the remedy applies only to commands that have this flag
	Text     string // it follows a colon
}

// If users may mean different things by a flag, such as -t, the cure names both. It says plainly
// what brig cannot do yet: a guess would cost the user more.
var flagRemedies = []Remedy{
	{"idle-timeout ttl timeout", "idle", "use --idle (time without a request) or --life (total time) for a session, --wall for a command"},
	{"timeout time time-limit timelimit max-time wall-time walltime real-time", "wall",
		"use --wall (elapsed time) or --cpu (processor time), such as --wall 5s"},
	{"t", "wall", "for a time limit use --wall 5s (elapsed time) or --cpu 5s (processor time)"},
	{"cpu-time cputime cpu-limit", "wall", "use --cpu, such as --cpu 2s"},
	{"m mem-limit memory-limit max-memory memlimit ram rss", "memory", "use --memory, such as --memory 256M"},
	{"output-limit max-output", "output", "use --output, such as --output 1M"},
	{"pids-limit max-processes processes procs nproc", "pids", "use --pids: processes and threads together"},
	{"ulimit nofile fds", "open-files", "use --open-files, --stack, --scratch or --file-size"},
	{"fsize filesize max-file-size", "file-size", "use --file-size, such as --file-size 1M"},
	{"as vmem virtual-memory", "address-space",
		"use --address-space for what each process may map, or --memory for what all of them use"},
	{"image container-image rootfs-image", "rootfs", "use --rootfs IMAGE -- CMD; brig rootfs ls lists the images"},
	{"net dns", "network", "use --allow HOST, or --network"},
	{"network net dns allow", "idle", "sessions have no network: leave it out"},
	{"p publish", "wall", "no port of this host leads to a program: leave it out"},
	{"i it ti interactive tty", "wall", "brig run -it and brig session exec -it give a program your terminal: leave it out"},
	{"rm", "wall", "a run leaves nothing behind: leave it out"},
	{"d detach background", "tests", "for a long-lived sandbox use brig session create"},
	{"stdin input input-file", "file", "redirect it: brig run FILE < INPUT"},
	{"stdin input input-file", "source", "redirect it: brig session exec ... < INPUT"},
	{"o output-file stdout", "result", "for the program's output write > FILE; --out DIR saves its files, --result FILE the verdict"},
	{"volume mount bind", "file", "--file [NAME=]PATH places files in /box, --out DIR saves the files that the program wrote"},
	{"mount bind v", "volume-size",
		"use --volume NAME, which is mounted at /workspace and outlives the session; brig session put places files"},
	{"name tag", "label", "use --label task=NAME"},
	{"w workdir cwd chdir", "wall", "programs start in /box, or where the image says: leave it out"},
	{"u user uid", "wall", "programs always run as uid 1000: leave it out"},
	{"privileged cap-add device gpus security-opt", "wall", "nothing gives a program privileges or devices"},
	{"j jobs parallel workers n", "tests", "tests use all free slots of the agent (brigd --slots N): leave it out"},
	{"threads", "wall", "--pids limits processes and threads together, --cpus the processors they use"},
	{"csv html junit tsv xml", "tests", "brig grade writes such reports, of one submission or many; --json prints the whole result"},
	{"format output-format", "json", "use --json"},
	{"checker validator grader", "check", "use --check FILE, and --check-protocol NAME if it is not Kattis's"},
	{"checker check validator interactor grader", "compare", "only brig run has checkers; here --compare is " + comparisons},
	{"ignore-case ignore-whitespace unordered", "compare", "--compare is " + comparisons},
	{"problem package", "tests", "use --tests PACKAGE, or brig grade PACKAGE FILES"},
	{"packages pip install with", "requirement",
		"use --requirement, such as --requirement 'numpy==2.*', or --requirements FILE (docs/packages.md)"},
	{"url remote server H", "tests", "brig run uses the agent of this host; a service is used over HTTP or from Python (docs/gateway.md)"},
	{"args", "tests", "write the program's arguments after FILE"},
	{"std O O2 O3 cflags compiler-flags", "flag", "use --flag, such as --flag -O3 or --flag -std=c++20"},
	{"verbose", "stats", "use --stats, or -v"},
	{"silent", "quiet", "use --quiet, or -q"},

	{"port p", "listen", "the port is part of --listen, such as --listen 127.0.0.1:9000"},
	{"bind address addr", "listen", "use --listen, such as --listen 127.0.0.1:9000"},
	{"api-key token key-file auth", "keys", "use --keys FILE; brig key add NAME creates a key and the file"},
	{"timeout", "max-body", "the time limit of a run is timeout_seconds in its request; --wait limits how long it waits for a slot"},
	{"workers jobs j threads concurrency", "agent-arg",
		"the slots of the agent limit concurrent runs: brigd --slots N, or --agent-arg=--slots=N if brig serve starts the agent"},
	{"cert certificate tls ssl", "tls-cert", "use --tls-cert FILE and --tls-key FILE"},
	{"debug", "verbose", "use --verbose, or -v"},
	{"db database", "data-dir", "use --data-dir DIR"},
	{"t tag n", "name", "use --name NAME"},
	{"server host remote", "url", "use --url ADDRESS"},
}

// comparisons are the values of --compare.
var comparisons = usage.Choices(api.Comparison("").Values())

// OfFlags returns the remedies of flags, for tests that all flags in them exist. The caller does not change them.
func OfFlags() []Remedy { return flagRemedies }

// Flag says what to write instead of a flag that f does not have. letters is the group of
// short flags (-it) that name was typed in, if any. The result is text to append to a message,
// empty if nothing is certain.
func Flag(f *pflag.FlagSet, name, letters string) string {
	letters, _, _ = strings.Cut(letters, "=")
	if len(letters) > 1 {
		typed := func(word string) bool { return isTyped(f, word, letters) }
		if all := flagNames(f); slices.ContainsFunc(all, typed) {
			return ": write --" + all[slices.IndexFunc(all, typed)]
		}
		if say := findFlagRemedy(f, typed); say != "" {
			return say
		}
	}
	if say := findFlagRemedy(f, func(word string) bool { return word == name }); say != "" {
		return say
	}

	if best := suggest.Closest(name, flagNames(f)); best != "" && letters == "" {
		return ": did you mean --" + best + "?"
	}
	return ""
}

// Setting is Flag for a file or the environment, where flags have no dashes.
func Setting(f *pflag.FlagSet, name string) string {
	if say := findFlagRemedy(f, func(word string) bool { return word == name }); say != "" {
		return say
	}
	return suggest.Text(name, flagNames(f))
}

func findFlagRemedy(f *pflag.FlagSet, typed func(word string) bool) string {
	for _, c := range flagRemedies {
		if f.Lookup(c.Requires) != nil && slices.ContainsFunc(strings.Fields(c.Flags), typed) {
			return ": " + c.Text
		}
	}
	return ""
}

// isTyped reports whether somebody has typed word after one dash. letters are what is left of it after the
// leading ones that are short flags of f: of -time it is "me" where -t and -i are flags.
func isTyped(f *pflag.FlagSet, word, letters string) bool {
	before, ok := strings.CutSuffix(word, letters)
	return ok && !strings.ContainsFunc(before, func(r rune) bool {
		return r > unicode.MaxASCII || f.ShorthandLookup(string(r)) == nil
	})
}

func flagNames(f *pflag.FlagSet) []string {
	var all []string
	f.VisitAll(func(g *pflag.Flag) {
		if !g.Hidden {
			all = append(all, g.Name)
		}
	})
	return all
}

// commandRemedies are other names for what a command of brig does.
var commandRemedies = []struct{ typed, say string }{
	{"images", "did you mean brig rootfs ls?"},
	{"rmi", "did you mean brig rootfs rm?"},
	{"build", "did you mean brig rootfs build?"},
	{"import load", "did you mean brig rootfs import?"},
	{"pull", "did you mean brig rootfs pull?"},
	{"push login", "brig only pulls images, with the credentials of docker login or podman login: did you mean brig rootfs pull?"},
	{"ps ls top", "did you mean brig session ls?"},
	{"exec", "did you mean brig session exec?"},
	{"create start shell attach", "did you mean brig session create?"},
	{"kill stop rm", "did you mean brig session rm?"},
	{"cp", "did you mean brig session put, or brig session get?"},
	{"judge mark assess", "did you mean brig grade PROBLEM SUBMISSIONS?"},
	{"test tests", "did you mean brig run --tests DIR FILE, or brig grade PROBLEM SUBMISSIONS?"},
	{"log logs runs results", "did you mean brig history?"},
	{"inspect why", "did you mean brig explain?"},
	{"server up daemon", "did you mean brig serve?"},
	{"keys token", "did you mean brig key?"},
	{"lint analyze", "did you mean brig check?"},
	{"langs compilers", "did you mean brig languages?"},
	{"network", "use brig run --allow HOST, or --network"},
	{"prune gc clean", "did you mean brig cleanup, or brig rootfs gc?"},
	{"seccomp", "did you mean brig profile?"},
	{"install add", "use brig run --requirement PACKAGE, or brig packages warm (docs/packages.md)"},
}

// Command says what to write instead of a command that brig does not have. isSource says that there is a program's file of
// this name, and all are brig's commands. The result is text to append to a message, empty if nothing is certain.
func Command(name string, isSource bool, all []string) string {
	for _, c := range commandRemedies {
		if hasWord(c.typed, name) {
			return ": " + c.say
		}
	}
	switch {
	case strings.HasPrefix(name, "-"):
		return ": flags follow the command"
	case isSource:
		return ": did you mean brig run " + name + "?"
	}
	return suggest.Text(name, all)
}

// subcommandRemedies are names for what no subcommand of a command does.
var subcommandRemedies = []struct{ command, typed, say string }{
	{"key", "remove delete revoke del", "use brig key rm NAME"},
	{"key", "list show", "use brig key ls"},
	{"key", "renew replace regenerate", "use brig key rotate NAME"},
}

// Subcommand says what to do instead of a subcommand that a command does not have. It is empty
// if nothing is known.
func Subcommand(command, name string) string {
	for _, c := range subcommandRemedies {
		if c.command == command && hasWord(c.typed, name) {
			return ": " + c.say
		}
	}
	return ""
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
