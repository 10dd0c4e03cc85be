package sessions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// volumeSessionOf creates a session with the volume of a project.
func volumeSessionOf(s *harness.Service, project, task string, v api.VolumeRequest) api.Session {
	s.T.Helper()
	var made api.Session
	s.Call("POST", "/v1/sessions", volumeSessionRequest(project, task, v), 201, &made)
	return made
}

func volumeSessionRequest(project, task string, v api.VolumeRequest) api.SessionRequest {
	return api.SessionRequest{Image: "tiny", Labels: api.Labels{Project: project, Task: task},
		Limits: api.Limits{Memory: 64 * api.MiB}, Volume: &v}
}

// A key has one volume for each of its projects, and never another key's, whatever its projects are
// called. A volume outlives sessions and the service.
func TestGatewayVolumes(t *testing.T) {
	a := harness.VolumeAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		if strings.Contains(line, "name: bob") {
			lines[i] = strings.Replace(line, "}", ", volumes: 50331648}", 1)
		}
	}

	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}

	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	small := api.VolumeRequest{Size: api.VolumeSizeMin}

	made := volumeSessionOf(ann, "course", "1", small)
	if made.Volume == nil || made.Volume.Name != "course" || made.Volume.Size != 16*api.MiB {
		t.Errorf("made with %+v", made.Volume)
	}

	at := "/v1/sessions/" + made.ID
	ann.Call("PUT", at+"/files/d/put?volume=true", strings.NewReader("put"), 204, nil)
	if res := ann.ExecIn(made.ID, "cat /workspace/d/put; echo of ann >/workspace/secret; ls"); string(res.Stdout) != "put" {
		t.Errorf("the volume has %q", res.Stdout)
	}
	if got := ann.ReadIn(at + "/files/secret?volume=true"); got != "of ann\n" {
		t.Errorf("got %q", got)
	}

	ann.Refused("GET", at+"/files/secret", nil, 404, api.CodeNotFound)
	var list api.FileList
	ann.Call("GET", at+"/files?volume=true", nil, 200, &list)
	if len(list.Files) != 3 {
		t.Errorf("files %+v", list)
	}

	ann.Call("DELETE", at+"/files/d/put?volume=true", nil, 204, nil)

	// One writer per project, whatever the task; a volume name cannot be chosen.
	ann.Refused("POST", "/v1/sessions", volumeSessionRequest("course", "2", api.VolumeRequest{}), 409, api.CodeConflict)
	reader := volumeSessionOf(ann, "course", "3", api.VolumeRequest{ReadOnly: true})
	if res := ann.ExecIn(reader.ID, "cat /workspace/secret"); string(res.Stdout) != "of ann\n" {
		t.Errorf("a reader has %q", res.Stdout)
	}

	ann.Refused("POST", "/v1/sessions", volumeSessionRequest("", "", api.VolumeRequest{}), 400, api.CodeBadRequest)
	ann.Refused("POST", "/v1/sessions", volumeSessionRequest("p", "", api.VolumeRequest{Name: "course"}), 400, api.CodeBadRequest)
	ann.Refused("POST", "/v1/sessions", volumeSessionRequest(strings.Repeat("p", 250), "", api.VolumeRequest{}), 400, api.CodeBadRequest)

	// Another key's project of the same name has another volume; no name leads to this one.
	own := volumeSessionOf(bob, "course", "1", small)
	if res := bob.ExecIn(own.ID, "ls -A /workspace"); len(res.Stdout) != 0 {
		t.Errorf("another key's volume has %q", res.Stdout)
	}

	var page api.Page[api.Volume]
	for _, project := range []string{"../ann/course", "/ann/course", "ann/course", "%2e%2e", "ann%2Fcourse"} {
		bob.Refused("POST", "/v1/sessions", volumeSessionRequest(project, "x", api.VolumeRequest{ReadOnly: true}), 404, api.CodeNotFound)
	}

	for _, project := range []string{"..", ".", "/"} { // which no URL could name
		bob.Refused("POST", "/v1/sessions", volumeSessionRequest(project, "x", api.VolumeRequest{ReadOnly: true}), 400, api.CodeBadRequest)
	}

	for _, path := range []string{"..%2Fann%2Fcourse", "ann%2Fcourse", "%2Fann%2Fcourse", "%2e%2e%2fann%2fcourse"} {
		bob.Refused("DELETE", "/v1/volumes/"+path, nil, 404, api.CodeNotFound)
	}

	bob.Call("GET", "/v1/volumes", nil, 200, &page)
	if len(page.Items) != 1 || page.Items[0].Name != "course" || page.Items[0].Sessions[0] != own.ID {
		t.Errorf("bob's volumes: %+v", page.Items)
	}

	// The volumes of a key are limited in bytes.
	volumeSessionOf(bob, "second", "", small)
	var p api.Problem
	bob.Call("POST", "/v1/sessions", volumeSessionRequest("third", "", api.VolumeRequest{Size: 32 * api.MiB}), 400, &p)
	if p.Code != api.CodeAboveCeiling || !strings.Contains(p.Detail, "48M") {
		t.Errorf("refused with %+v", p)
	}

	volumeSessionOf(bob, "second", "other task", api.VolumeRequest{ReadOnly: true})

	// A volume outlives its sessions, and the service.
	ann.Refused("DELETE", "/v1/volumes/course", nil, 409, api.CodeConflict)
	s.Stop()
	s = harness.StartService(t, a, "--keys", file)
	ann, bob = s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	made = volumeSessionOf(ann, "course", "1", api.VolumeRequest{})
	if res := ann.ExecIn(made.ID, "cat /workspace/secret"); string(res.Stdout) != "of ann\n" {
		t.Errorf("the next service's session has %q", res.Stdout)
	}

	ann.Call("DELETE", "/v1/sessions/"+made.ID, nil, 204, nil)
	ann.Call("DELETE", "/v1/volumes/course", nil, 204, nil)
	ann.Refused("DELETE", "/v1/volumes/course", nil, 404, api.CodeNotFound)
	bob.Call("DELETE", "/v1/volumes/course", nil, 204, nil)
	bob.Call("DELETE", "/v1/volumes/second", nil, 204, nil)
	left, err := filepath.Glob(filepath.Join(a.Dir, "volumes", "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("files left: %q, %v", left, err)
	}

	noLoops(t, a)
}

// The next session gets the volume as soon as the previous one is known to have ended: it waits
// until the volume is written out. A caller that has to end its own session first learns which
// one.
func TestGatewayVolumePassesToTheNextSession(t *testing.T) {
	a := harness.VolumeAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	ask := volumeSessionRequest("p", "t", api.VolumeRequest{Size: api.VolumeSizeMin})
	var made api.Session
	for i := range 6 {
		if ask.Idle = 0; i%2 != 0 {
			ask.Idle = harness.Slowly(0.2)
		}
		s.Call("POST", "/v1/sessions", ask, 201, &made)
		if i%2 == 0 {
			s.Call("DELETE", "/v1/sessions/"+made.ID, nil, 204, nil)
			continue
		}
		harness.Eventually(t, "the session to be idle", func() bool {
			_, err := a.Session(t.Context(), made.ID)
			return err != nil
		})
	}

	stays := volumeSessionOf(s, "p", "t", api.VolumeRequest{})
	var p api.Problem
	s.Call("POST", "/v1/sessions", volumeSessionRequest("p", "other", api.VolumeRequest{}), 409, &p)
	if p.Code != api.CodeConflict || p.Session != stays.ID || p.RetrySafe {
		t.Errorf("a second writer gets %+v; want session %s", p, stays.ID)
	}

	s.Call("DELETE", "/v1/volumes/p", nil, 409, &p)
	if p.Session != stays.ID {
		t.Errorf("the caller that removes the volume gets %+v; want session %s", p, stays.ID)
	}
}
