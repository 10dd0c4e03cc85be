package plan

import (
	"maps"

	"github.com/brig-sandbox/brig/api"
)

// terminalEnv adds the kind of terminal, which programs look up, to the environment of a program that has one.
func terminalEnv(env map[string]string, tty *api.TTY) map[string]string {
	if _, set := env["TERM"]; tty == nil || set {
		return env
	}

	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["TERM"] = "xterm-256color"
	return env
}

// terminalLimits gives a run with a terminal all the time that the agent grants to one: it waits for a person.
func terminalLimits(wish api.Limits, tty *api.TTY, ceiling api.Limits) api.Limits {
	if tty != nil && wish.Wall == 0 {
		wish.Wall = ceiling.Wall
	}
	return wish
}
