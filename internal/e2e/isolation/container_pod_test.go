package isolation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// askUnix posts a run to a service that listens on a socket.
func askUnix(t *testing.T, socket, key, body string) (status int, answer []byte) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/runs", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)

	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recipeDir, name))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// A pod has what the test reads of deploy/container/pod.yaml.
type pod struct {
	Spec struct {
		HostNetwork bool `yaml:"hostNetwork"`
		HostPID     bool `yaml:"hostPID"`
		HostIPC     bool `yaml:"hostIPC"`
		Containers  []podContainer
	}
}

type podContainer struct {
	Name            string
	Args, Command   []string
	SecurityContext struct {
		Privileged               bool
		RunAsUser                int    `yaml:"runAsUser"`
		ReadOnlyRootFilesystem   bool   `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation bool   `yaml:"allowPrivilegeEscalation"`
		ProcMount                string `yaml:"procMount"`
		Capabilities             struct{ Drop, Add []string }
		SeccompProfile           struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

func named(names []string) (all []string) {
	for _, n := range names {
		all = append(all, "CAP_"+n)
	}
	return all
}

// places are what a container has mounted beyond what every runtime mounts.
func places(c ociConfig) (all []string) {
	for _, m := range c.Mounts {
		if !slices.Contains([]string{"/proc", "/sys", "/dev", "/sys/fs/cgroup"}, m.Destination) {
			all = append(all, m.Destination)
		}
	}
	return all
}

// Compose and the pod grant what config.json grants, which TestContainerRecipeIsExact runs.
func TestContainerRecipesGrantTheSame(t *testing.T) {
	agent, service := recipe(t, "config.json"), recipe(t, "gateway.json")
	want := agent.Process.Capabilities["bounding"]
	if len(service.Process.Capabilities) != 0 || service.Process.User.UID == 0 || !service.Process.NoNewPrivileges {
		t.Error("the service has rights")
	}

	var p pod
	readYAML(t, "pod.yaml", &p)
	if p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC || len(p.Spec.Containers) != 2 {
		t.Error("the pod shares namespaces with its node, or has not two containers")
	}
	for i, c := range p.Spec.Containers {
		s, like, caps := c.SecurityContext, []ociConfig{agent, service}[i], [][]string{want, nil}[i]
		var mounts []string
		for _, m := range c.VolumeMounts {
			mounts = append(mounts, m.MountPath)
		}

		if s.Privileged || s.ProcMount != "" || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) ||
			!slices.Equal(named(s.Capabilities.Add), caps) || s.RunAsUser != like.Process.User.UID || !slices.Equal(mounts, places(like)) ||
			s.AllowPrivilegeEscalation == like.Process.NoNewPrivileges {
			t.Errorf("the pod's %s has %+v and %v; want %v and %v", c.Name, s, mounts, caps, places(like))
		}
	}

	var compose struct {
		Services map[string]struct {
			Privileged  bool
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			CapAdd      []string `yaml:"cap_add"`
			SecurityOpt []string `yaml:"security_opt"`
			Volumes     []string
			Tmpfs       []string
			User        string
		}
	}
	readYAML(t, "compose.yaml", &compose)
	for name, like := range map[string]ociConfig{"agent": agent, "service": service} {
		c := compose.Services[name]
		var mounts []string
		for _, v := range slices.Concat(c.Volumes, c.Tmpfs) {
			_, v, found := strings.Cut(strings.TrimPrefix(v, "${BRIG_KEYS:?the file of keys}"), ":")
			if strings.HasPrefix(v, "mode") || !found {
				v = "/var/tmp"
			}
			mounts = append(mounts, strings.TrimSuffix(v, ":ro"))
		}

		caps, options := want, []string{"seccomp=unconfined", "apparmor=unconfined"}
		if name == "service" {
			caps, options = nil, []string{"no-new-privileges"}
		}
		if c.Privileged || !c.ReadOnly || !slices.Equal(c.CapDrop, []string{"ALL"}) || !slices.Equal(named(c.CapAdd), caps) ||
			!slices.Equal(c.SecurityOpt, options) || !slices.Equal(mounts, places(like)) {
			t.Errorf("Compose's %s is %+v, with %v; want %v, %v and %v", name, c, mounts, caps, options, places(like))
		}
	}
}

// What a kubelet would make of the pod runs under runc: its directories of memory belong to anybody.
func TestPodUnderRunc(t *testing.T) {
	s := newContainers(t)
	var p pod
	readYAML(t, "pod.yaml", &p)
	agent := p.Spec.Containers[0]

	c := recipe(t, "config.json")
	c.grant(named(agent.SecurityContext.Capabilities.Add)...)
	c.Process.Args = append([]string{"/usr/bin/brigd-start"}, agent.Args...)
	c.Mounts = slices.DeleteFunc(c.Mounts, func(m ociMount) bool { return slices.Contains(places(recipe(t, "config.json")), m.Destination) })
	for _, m := range agent.VolumeMounts {
		c.Mounts = append(c.Mounts, ociMount{m.MountPath, "bind", "", []string{"rbind", "rprivate", "rw"}})
	}

	open := filepath.Join(harness.PublicDir(t, "brig-container-emptydir-"), "scratch")
	if err := errors.Join(os.Mkdir(open, 0o777), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	c.source("/var/tmp", open)
	k := s.startIn(t, c, 0o777)
	if wrong := s.outcome(t, k, "root", "scratch", "SEC-15"); wrong != "" {
		t.Errorf("%s\n%s", wrong, k.log)
	}
}
