package usage

import (
	"fmt"
	"strings"
)

// Bash returns the completion of program, which has the commands of all. Pages with a
// one-word name, which are programs, are skipped.
func Bash(program string, all []Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for bash. Made by %[1]s completion bash.
_%[1]s() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' flags='' valued='' files=''
	# --flag=value is three words
	if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	COMPREPLY=()
	local at=${COMP_WORDS[*]:1:COMP_CWORD-1}
	case "$at " in
`, program)
	// Subcommands come before their commands: their words begin with those of the command.
	for i := len(all) - 1; i >= 0; i-- {
		p := all[i]
		at, ok := strings.CutPrefix(p.Name, program+" ")
		if !ok {
			continue
		}
		var flags, valued, files []string
		for _, f := range p.flags() {
			typed := []string{"--" + f.name}
			if f.short != "" {
				typed = append(typed, "-"+f.short)
			}
			flags = append(flags, typed...)
			if f.takesFile() {
				files = append(files, typed...)
			} else if f.value != "" {
				valued = append(valued, typed...)
			}
		}
		fmt.Fprintf(&b, "\t'%s '*) words=%s flags=%s valued=%s files=%s ;;\n", at,
			quoteWords(lastWords(subcommands(all, p.Name))), quoteWords(flags), quoteWords(valued), quoteWords(files))
	}
	fmt.Fprintf(&b, `	' ') words=%s ;;
	esac
	if [[ -n $prev && " $files " == *" $prev "* ]]; then
		return # the shell offers files
	elif [[ -n $prev && " $valued " == *" $prev "* ]]; then
		compopt +o default 2>/dev/null # no completion for the value
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$flags --help" -- "$cur")
	elif [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
complete -o default -F _%s %[2]s
`, quoteWords(lastWords(subcommands(all, program))), program)
	return b.String()
}

func lastWords(pages []Page) []string {
	var out []string
	for _, p := range pages {
		out = append(out, p.lastWord())
	}
	return out
}

// quoteWords quotes words as one word of a shell; no word of the command line contains a quote.
func quoteWords(words []string) string { return "'" + strings.Join(words, " ") + "'" }

// Zsh returns the completion for zsh: the file _program in its fpath.
func Zsh(program string, all []Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %[1]s\n# Completion of %[1]s for zsh. Made by %[1]s completion zsh.\n_%[1]s() {\n", program)
	zshCommand(&b, all, program, 2)
	fmt.Fprintf(&b, "}\n_%s \"$@\"\n", program)
	return b.String()
}

// zshCommand completes the subcommands of the command called name. at is the position of
// the subcommand on the command line.
func zshCommand(b *strings.Builder, all []Page, name string, at int) {
	tabs := strings.Repeat("\t", 2*at-3)
	children := subcommands(all, name)
	fmt.Fprintf(b, "%sif (( CURRENT == %d )); then\n%s\tlocal -a all=(\n", tabs, at, tabs)
	for _, p := range children {
		fmt.Fprintf(b, "%s\t\t%s\n", tabs, zshQuote(p.lastWord()+":"+strings.ReplaceAll(p.summary(), ":", `\:`)))
	}
	fmt.Fprintf(b, "%s\t)\n%s\t_describe command all\n%s\treturn\n%sfi\n%scase $words[%d] in\n", tabs, tabs, tabs, tabs, tabs, at)
	for _, p := range children {
		fmt.Fprintf(b, "%s%s)\n", tabs, p.lastWord())
		if len(subcommands(all, p.Name)) > 0 {
			zshCommand(b, all, p.Name, at+1)
		} else {
			fmt.Fprintf(b, "%s\tshift %d words; (( CURRENT -= %d ))\n%s\t_arguments -s -S", tabs, at-1, at-1, tabs)
			for _, f := range p.flags() {
				b.WriteString(" \\\n" + tabs + "\t\t" + zshFlag(f))
			}
			fmt.Fprintf(b, " \\\n%s\t\t'*:file:_files'\n", tabs)
		}
		fmt.Fprintf(b, "%s\t;;\n", tabs)
	}
	fmt.Fprintf(b, "%sesac\n", tabs)
}

// zshFlag formats a flag as an argument of _arguments.
func zshFlag(f flag) string {
	text := "[" + strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.text) + "]"
	if f.value != "" {
		text += ":" + strings.NewReplacer("[", "", "]", "", ":", "").Replace(f.value) + ":"
		if f.takesFile() {
			text += "_files"
		}
	}
	long := "--" + f.name
	if f.value != "" {
		long += "="
	}
	if f.short == "" {
		return zshQuote("*" + long + text)
	}
	return "'*'{-" + f.short + "," + long + "}" + zshQuote(text)
}

func zshQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Fish returns the completion for fish.
func Fish(program string, all []Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for fish. Made by %[1]s completion fish.
function __%[1]s_at # the words so far begin with these
	set -l words (commandline -opc)
	set -l last (math (count $argv) + 1)
	test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
function __%[1]s_is # the words so far are these
	set -l words (commandline -opc)
	test (count $words) -eq (math (count $argv) + 1); and test "$words[2..]" = "$argv"
end
`, program)
	group := func(name string) {
		for _, p := range subcommands(all, name) {
			fmt.Fprintf(&b, "complete -c %s -n %s -f -a %s -d %s\n", program,
				fishQuote("__"+program+"_is"+strings.TrimPrefix(name, program)), p.lastWord(), fishQuote(p.summary()))
		}
	}
	group(program)
	for _, p := range all {
		at, ok := strings.CutPrefix(p.Name, program+" ")
		if !ok {
			continue
		}
		group(p.Name)
		for _, f := range p.flags() {
			fmt.Fprintf(&b, "complete -c %s -n %s -l %s", program, fishQuote("__"+program+"_at "+at), f.name)
			if f.short != "" {
				fmt.Fprintf(&b, " -s %s", f.short)
			}
			if f.takesFile() {
				b.WriteString(" -r")
			} else if f.value != "" {
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuote(f.text))
		}
	}
	return b.String()
}

func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
