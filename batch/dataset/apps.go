package dataset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// appsTask reads a task of APPS: input_output is an object, or text with one.
func appsTask(rec record) (t task, err error) {
	c, err := nested[cases](rec, "input_output")
	if err != nil {
		return t, err
	}
	if t.run, err = c.run(either); err != nil {
		return t, fmt.Errorf("input_output: %w", err)
	}

	t.canonical = func() (all []solution, err error) {
		if text, err := field[string](rec, "solutions"); err == nil && text == "" {
			return nil, nil
		}
		codes, err := nested[[]string](rec, "solutions")
		for _, code := range codes {
			all = append(all, solution{kind: program, text: code})
		}
		return all, err
	}

	return t, nil
}

// tacoTask reads a task of TACO: as APPS, with limits.
func tacoTask(rec record) (t task, err error) {
	if t, err = appsTask(rec); err != nil {
		return t, err
	}

	seconds, err := amount(rec, "time_limit", "second", "seconds")
	if err != nil {
		return t, err
	}

	megabytes, err := amount(rec, "memory_limit", "megabyte", "megabytes")
	if err != nil {
		return t, err
	}

	t.run.Limits = limitsOf(api.Duration(seconds*1e9), api.Size(megabytes*float64(api.MiB)))
	return t, nil
}

// amount reads a number with its unit, such as "2.0 seconds". It is zero if there is none.
func amount(rec record, key string, units ...string) (float64, error) {
	text, err := field[string](rec, key)
	if err != nil || text == "" {
		return 0, err
	}
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	for _, u := range units {
		if err == nil && unit == u && n > 0 && n < 1e6 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s %.40q: expected a number of %s", key, text, units[len(units)-1])
}

// limitsOf returns limits of processor time and memory. The wall limit leaves room for waiting.
func limitsOf(cpu api.Duration, memory api.Size) api.Limits {
	l := api.Limits{CPU: cpu, Memory: memory}
	if cpu > 0 {
		l.Wall = min(2*cpu+api.Duration(1e9), max(cpu, api.DefaultCeiling().Wall))
	}
	return l
}
