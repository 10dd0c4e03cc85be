package packaging

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// directives returns the directives of a unit's section. Values of repeated directives are
// joined, as systemd merges the lines of a filter.
func directives(unit, section string) map[string]string {
	_, text, _ := strings.Cut(unit, "\n["+section+"]\n")
	text, _, _ = strings.Cut(text, "\n[")
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), "="); is && !strings.HasPrefix(name, "#") {
			if before, again := all[name]; again {
				value = before + " " + value
			}
			all[name] = value
		}
	}
	return all
}

// The installed units keep the promises of the documents: the agent has its own control
// groups, and the service has no rights that it does not need.
func TestUnitsKeepTheirPosture(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	runCommand(t, []string{"DESTDIR=" + dir, "PREFIX=/usr"}, "./install")

	for unit, want := range map[string]map[string]string{
		"brigd.service": {
			"Type": "exec", "Delegate": "yes", "KillMode": "mixed", "TasksMax": "infinity", "OOMScoreAdjust": "-900", "ProtectHome": "yes",
			"Restart": "on-failure",
		},
		"brig-gateway.service": {
			"User": "brig-gateway", "Group": "brig-gateway", "SupplementaryGroups": "brig", "UMask": "0077", "LimitNOFILE": "16384",
			"TimeoutStopSec": "45s", "StateDirectory": "brig-gateway", "StateDirectoryMode": "0700",
			"CapabilityBoundingSet": "", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
			"PrivateDevices": "yes",
			"ProtectProc":    "invisible", "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectControlGroups": "yes",
			"ProtectKernelLogs":    "yes",
			"ProtectKernelModules": "yes", "ProtectKernelTunables": "yes", "RemoveIPC": "yes",
			"RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX AF_NETLINK",
			"RestrictNamespaces":      "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes",
			"MemoryDenyWriteExecute": "yes",
			"KeyringMode":            "private", "SystemCallArchitectures": "native", "SystemCallFilter": "@system-service ~@privileged @resources",
			"Restart": "on-failure",
		},
	} {
		has := directives(read(t, dir+"/usr/lib/systemd/system/"+unit), "Service")
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got, said := has[name]; !said || got != want[name] {
				t.Errorf("%s has %s=%s (said: %t); want %q", unit, name, got, said, want[name])
			}
		}
		for name, value := range has { // directives that would undo the restrictions
			if slices.Contains([]string{"AmbientCapabilities", "PermissionsStartOnly", "DynamicUser", "ReadWritePaths"}, name) ||
				strings.HasPrefix(value, "+") {
				t.Errorf("%s has %s=%s", unit, name, value)
			}
		}
	}

	if agent := directives(read(t, dir+"/usr/lib/systemd/system/brigd.service"), "Service"); agent["User"] != "" ||
		!strings.HasPrefix(agent["CapabilityBoundingSet"], "~") || !strings.Contains(agent["CapabilityBoundingSet"], "CAP_SYS_MODULE") {
		t.Errorf("brigd is not root without what root never needs here: %v", agent)
	}

	made := read(t, dir+"/usr/lib/sysusers.d/brig.conf")
	for _, line := range []string{"g brig - -\n", "u brig-gateway - ", "m brig-gateway brig\n"} { // the user that the unit runs as
		if !strings.Contains("\n"+made, "\n"+line) {
			t.Errorf("no %q in\n%s", line, made)
		}
	}

	if dirs := read(t, dir+"/usr/lib/tmpfiles.d/brig.conf"); !strings.Contains(dirs,
		"d /var/lib/brig-gateway 0700 brig-gateway brig-gateway") {
		t.Errorf("the history is not its service's alone:\n%s", dirs)
	}
}

// The container runs as an unprivileged user and cannot be used by strangers: it is
// reachable from other hosts, so it must not start without a file of keys.
func TestContainerIsLockedUp(t *testing.T) {
	text := strings.ReplaceAll(read(t, "Containerfile"), "\\\n", " ")
	last := func(word string) (value string) { // the last of several counts
		for _, m := range regexp.MustCompile(`(?m)^`+word+`\s+(.*)$`).FindAllStringSubmatch(text, -1) {
			value = strings.TrimSpace(m[1])
		}
		return value
	}
	if user := last("USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %q; want the numbers of one that is not root", user)
	}

	env := map[string]string{}
	for _, pair := range strings.Fields(last("ENV")) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}

	if env["BRIG_SERVE_LISTEN"] != "0.0.0.0:8080" || env["BRIG_SERVE_KEYS"] != "/etc/brig/keys.yaml" {
		t.Errorf("environment %v; want it to listen for others, with keys", env)
	}
	if got := last("ENTRYPOINT"); got != `["/usr/bin/brig", "serve"]` || last("CMD") != "" {
		t.Errorf("it starts %s %s", got, last("CMD"))
	}
	if got := last("FROM"); got != "scratch" {
		t.Errorf("it is made from %s; want nothing in it but brig", got)
	}
	if keys := regexp.MustCompile(`(?m)^(COPY|ADD)\b.*\bkeys`).FindString(text); keys != "" {
		t.Errorf("keys are in the image: %s", keys)
	}
}
