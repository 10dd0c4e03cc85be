package api_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

var updateLimits = flag.Bool("update-limits", false, "write docs/reports/limits.md")

const limitsPage = "../docs/reports/limits.md"

// docs/reports/limits.md is the table of limits.
func TestLimitsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Limits

Made from the table in [api/limits.go](../../api/limits.go) by
` + "`go test ./api -run TestLimitsPage -update-limits`" + `; do not edit.

Each limit is a field of ` + "`limits`" + ` in a request and a flag of ` + "`brig run`" + `, with ` + "`-`" + ` in place of ` + "`_`" + `. A
limit that is not set is the language's, or the default. A ceiling is what a request may ask for:
the operator changes it with the flag ` + "`brigd --max-NAME`" + `, and a key of the service may have lower
ones. In a session a limit bounds the whole session, each exec, or both.

| limit | smallest | default | ceiling | in a session | what it bounds | applied by |
|---|---|---|---|---|---|---|
`)

	scopes := map[api.LimitScope]string{api.OfBoth: "both", api.OfExec: "each exec", api.OfSession: "the session"}
	for _, row := range api.LimitTable() {
		ceiling := cmp.Or(row.Ceiling, "-")
		if row.Top == "" {
			ceiling = "no flag"
		} else if at := strings.LastIndex(row.Top, "(default: "); at >= 0 {
			ceiling = strings.TrimSuffix(row.Top[at+len("(default: "):], ")")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n",
			row.Name, cmp.Or(row.Least, "-"), cmp.Or(row.Otherwise, row.Default), ceiling, scopes[row.Scope], row.Help, row.By)
	}

	if *updateLimits {
		if err := os.WriteFile(limitsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	old, err := os.ReadFile(limitsPage)
	if err != nil || string(old) != b.String() {
		t.Errorf("%s is not what the table says (%v): run go test ./api -run TestLimitsPage -update-limits", limitsPage, err)
	}
}

// A limit that is set in Limits and has no row would be neither filled nor bounded.
func TestEveryLimitHasARow(t *testing.T) {
	var l api.Limits
	rows := map[any]bool{}
	for _, row := range api.LimitTable() {
		rows[row.Field(&l)] = true
	}
	fields := reflect.ValueOf(&l).Elem()
	for i := range fields.NumField() {
		// core is refused whatever its value: brig writes no core files
		if name := fields.Type().Field(i).Name; name != "Core" && !rows[fields.Field(i).Addr().Interface()] {
			t.Errorf("Limits.%s has no row", name)
		}
	}
}
