package main

import "github.com/spf13/pflag"

// A page is what a command says of itself: completions and manual pages are made
// from nothing else.
type page struct {
	name  string // the words after brig, such as rootfs build
	usage string
	flags *pflag.FlagSet
}

// pages asks the commands all for theirs; each subcommand follows its command.
func pages(all []command) []page {
	var told []page
	c := &console{env: func(string) string { return "" }, asked: &told}
	for _, k := range all {
		k.run(c, nil)
	}
	return told
}
