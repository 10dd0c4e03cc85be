package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// A cure says what to write for flags that other programs have and brig has not.
type cure struct {
	typed string // the flags, without dashes; one letter is a short flag
	needs string // a flag of the command it is for; a command without it has no such cure
	say   string
}

// Where one flag means different things to different people, such as -t, the cure
// names both. What brig cannot do yet is said plainly: a guess would cost more.
var cures = []cure{
	{"idle-timeout ttl timeout", "idle", "a session's time is --idle (without a request) or --life (in all), that of a command is --wall"},
	{"timeout time time-limit timelimit max-time wall-time walltime real-time", "wall", "here it is --wall (time that passes) or --cpu (processor time), such as --wall 5s"},
	{"t", "wall", "a time limit is --wall 5s (time that passes) or --cpu 5s (processor time); a terminal is never given"},
	{"cpu-time cputime cpu-limit", "wall", "here it is --cpu, such as --cpu 2s"},
	{"m mem-limit memory-limit max-memory memlimit ram rss", "memory", "here it is --memory, such as --memory 256M"},
	{"output-limit max-output", "output", "here it is --output, such as --output 1M"},
	{"pids-limit max-processes processes procs nproc", "pids", "here it is --pids: processes and threads together"},
	{"ulimit nofile fds", "open-files", "here it is --open-files, --stack or --scratch"},
	{"image container-image rootfs-image", "rootfs", "here it is --rootfs IMAGE -- CMD; brig rootfs ls lists the images"},
	{"network net p publish dns", "wall", "programs never have a network: leave it out"},
	{"i it ti interactive tty", "wall", "the program has your stdin anyway, and never a terminal: leave it out"},
	{"rm", "wall", "nothing of a run stays: leave it out"},
	{"d detach background", "tests", "what lasts is a session: brig session create"},
	{"stdin input input-file", "file", "redirect it: brig run FILE < INPUT"},
	{"stdin input input-file", "source", "redirect it: brig session exec ... < INPUT"},
	{"o output-file stdout", "result", "for the program's output write > FILE; --out DIR brings back its files, --result FILE the verdict"},
	{"volume mount bind", "file", "--file [NAME=]PATH places files in /box, --out DIR brings back what the program wrote"},
	{"mount bind v", "volume-size", "here it is --volume NAME, which is kept at /workspace; brig session put places files"},
	{"name tag", "label", "here it is --label task=NAME"},
	{"w workdir cwd chdir", "wall", "programs begin in /box: leave it out"},
	{"u user uid", "wall", "programs run as a user of their own, uid 1000: leave it out"},
	{"privileged cap-add device gpus security-opt", "wall", "nothing gives a program privileges or devices"},
	{"j jobs parallel workers n", "tests", "tests use the free slots of the agent by themselves (brigd --slots N): leave it out"},
	{"threads", "wall", "--pids bounds processes and threads together, --cpus the processors they use"},
	{"csv html junit tsv xml", "tests", "there is no such report yet: --json prints the whole result"},
	{"format output-format", "json", "there is --json"},
	{"checker check validator interactor grader", "tests", "brig has no programs that check answers yet: --compare is lines, tokens, exact or float"},
	{"ignore-case ignore-whitespace unordered", "tests", "--compare is lines, tokens, exact or float"},
	{"problem package", "tests", "brig does not read problem packages yet: --tests DIR takes the NAME.in and NAME.ans below a directory, such as their data/"},
	{"packages pip requirements install with", "wall", "a run installs no packages: build an image with them by a recipe (docs/languages.md)"},
	{"url remote server H", "tests", "brig run uses the agent of this host; a service is used over HTTP or from Python (docs/gateway.md)"},
	{"args", "tests", "write the program's arguments behind FILE"},
	{"std O O2 O3 cflags compiler-flags", "flag", "here it is --flag, such as --flag -O3 or --flag -std=c++20"},
	{"verbose", "stats", "here it is --stats, or -v"},
	{"silent", "quiet", "here it is --quiet, or -q"},

	{"port p", "listen", "the port is a part of --listen, such as --listen 127.0.0.1:9000"},
	{"bind address addr", "listen", "here it is --listen, such as --listen 127.0.0.1:9000"},
	{"api-key token key-file auth", "keys", "here it is --keys FILE; brig key add NAME makes a key and the file"},
	{"timeout", "max-body", "a run's time limit is its request's timeout_seconds; --wait bounds how long it waits for a slot"},
	{"workers jobs j threads concurrency", "agent-arg", "as many runs go on as the agent has slots: brigd --slots N, or --agent-arg=--slots=N for one that is started"},
	{"cert certificate tls ssl", "tls-cert", "here it is --tls-cert FILE and --tls-key FILE"},
	{"debug", "verbose", "here it is --verbose, or -v"},
	{"db database", "data-dir", "here it is --data-dir DIR"},
	{"t tag n", "name", "here it is --name NAME"},
	{"server host remote", "url", "here it is --url ADDRESS"},
}

// flagCure says what to write instead of a flag that f has not: name, typed in a group
// of letters (-it) where letters is not empty. It is text to put behind a message, and
// empty where nothing is sure.
func flagCure(f *pflag.FlagSet, name, letters string) string {
	letters, _, _ = strings.Cut(letters, "=")
	typed := []string{name}
	if letters != "" {
		if len(letters) > 1 && f.Lookup(letters) != nil {
			return ": write --" + letters
		}
		typed = []string{letters, name}
	}
	for _, t := range typed {
		if say := cureOf(f, t); say != "" {
			return say
		}
	}
	if best := closest(name, flagNames(f)); best != "" && letters == "" {
		return ": did you mean --" + best + "?"
	}
	return ""
}

// settingCure is flagCure for a file or the environment, where flags have no dashes.
func settingCure(f *pflag.FlagSet, name string) string {
	if say := cureOf(f, name); say != "" {
		return say
	}
	return nearest(name, flagNames(f))
}

func cureOf(f *pflag.FlagSet, typed string) string {
	for _, c := range cures {
		if f.Lookup(c.needs) != nil && hasWord(c.typed, typed) {
			return ": " + c.say
		}
	}
	return ""
}

func flagNames(f *pflag.FlagSet) []string {
	var all []string
	f.VisitAll(func(g *pflag.Flag) { all = append(all, g.Name) })
	return all
}

// commandCures are words for what a subcommand of brig's does.
var commandCures = []struct{ typed, say string }{
	{"images", "did you mean brig rootfs ls?"},
	{"rmi", "did you mean brig rootfs rm?"},
	{"build", "did you mean brig rootfs build?"},
	{"import load", "did you mean brig rootfs import?"},
	{"pull push login", "brig fetches no images from a registry: did you mean brig rootfs import, for a tarball, or brig rootfs build?"},
	{"ps ls top", "did you mean brig session ls?"},
	{"exec", "did you mean brig session exec?"},
	{"create start shell attach", "did you mean brig session create?"},
	{"kill stop rm", "did you mean brig session rm?"},
	{"cp", "did you mean brig session put, or brig session get?"},
	{"judge grade test tests", "did you mean brig run --tests DIR FILE?"},
	{"log logs runs results", "did you mean brig history?"},
	{"inspect why", "did you mean brig explain?"},
	{"server up daemon", "did you mean brig serve?"},
	{"keys token", "did you mean brig key?"},
	{"lint analyze", "did you mean brig check?"},
	{"langs compilers", "did you mean brig languages?"},
	{"network", "programs never have a network"},
	{"prune gc clean", "did you mean brig cleanup, or brig rootfs gc?"},
	{"seccomp", "did you mean brig profile?"},
	{"install add", "a run installs no packages: build an image with them by a recipe (docs/languages.md)"},
}

// commandCure says what to write instead of a command that brig has not.
func commandCure(name string, all []string) string {
	for _, c := range commandCures {
		if hasWord(c.typed, name) {
			return ": " + c.say
		}
	}
	switch {
	case strings.HasPrefix(name, "-"):
		return ": flags stand behind the command"
	case isSource(name):
		return ": did you mean brig run " + name + "?"
	}
	return nearest(name, all)
}

// subcommandCures are words for what no subcommand of a command does.
var subcommandCures = []struct{ command, typed, say string }{
	{"key", "rm remove delete revoke del", "take the key's line out of the keys file (" + defaultKeys + ", or the one of brig serve --keys): the service reads it again within three seconds, and its log says if it cannot"},
	{"key", "ls list show", "the keys file has a line for each key (" + defaultKeys + ", or the one of brig serve --keys), and no key itself"},
}

// subcommandCure says what to do instead of a subcommand that a command has not; empty where
// nothing is known.
func subcommandCure(command, name string) string {
	for _, c := range subcommandCures {
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
