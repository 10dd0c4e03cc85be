package api

import "unicode/utf8"

// MaxLabel is the most bytes of a label.
const MaxLabel = 256

// Labels say what a run, session or batch belongs to. brig passes them on. It interprets Run alone, and
// that only to end what has it (EndRequest); the service also shares slots between projects.
type Labels struct {
	Project string `json:"project,omitempty" doc:"the project that the run belongs to; brig does not interpret it"`
	Task    string `json:"task,omitempty" doc:"the task within the project; brig does not interpret it"`
	Run     string `json:"run,omitempty" doc:"the name, such as that of a job of a cluster, by which POST /v1/end and brig end end it together with all else that has it"`
}

// Validate refuses labels that are too long, or no text.
func (l Labels) Validate() error {
	for _, one := range []struct{ name, value string }{
		{"project", l.Project}, {"task", l.Task}, {"run", l.Run},
	} {
		switch {
		case len(one.value) > MaxLabel:
			return Refuse(CodeBadRequest, "labels.%s has %d bytes, and the maximum is %d: choose a shorter one",
				one.name, len(one.value), MaxLabel)
		case !utf8.ValidString(one.value):
			return Refuse(CodeBadRequest, "labels.%s has bytes that are not UTF-8: write it as text", one.name)
		}
	}

	return nil
}

// An EndRequest asks for the end of all that the caller has with a label: runs that wait or are executed,
// sessions, batches, and temporary volumes. What does not have it, and what others have, stays.
type EndRequest struct {
	Run     string `json:"run" doc:"the run in the labels of what is ended"`
	Project string `json:"project,omitempty" doc:"only what also has this project; empty: whatever project it has"`
}

// Validate refuses a request without a run, which would end too much, and labels that nothing can have.
func (e EndRequest) Validate() error {
	if e.Run == "" {
		return Refuse(CodeBadRequest, "run is empty: say which run is to be ended")
	}
	return Labels{Project: e.Project, Run: e.Run}.Validate()
}

// Has reports whether something with these labels is to be ended.
func (e EndRequest) Has(l Labels) bool {
	return e.Run != "" && l.Run == e.Run && (e.Project == "" || l.Project == e.Project)
}

// HasVolume reports whether a volume is to be ended. Its name is the project.
func (e EndRequest) HasVolume(v Volume) bool { return e.Has(Labels{Project: v.Name, Run: v.Run}) }

// Ended says how much was ended. The same request again ends nothing more, and answers with zeros.
type Ended struct {
	Runs     int `json:"runs" doc:"runs that waited or were executed: their verdict is canceled"`
	Sessions int `json:"sessions" doc:"sessions, with all that ran in them"`
	Batches  int `json:"batches" doc:"batches: they are canceled, and their results so far stay; an agent by itself has none"`
	Volumes  int `json:"volumes" doc:"temporary volumes, which are removed with their content"`
}

// CanceledResult is the result of a run that was canceled before it began, or whose measurements nobody has;
// why says which.
func CanceledResult(id string, l Labels, why string) Result {
	none := Unknown(why)
	return Result{
		Run: id, Verdict: Canceled, Stage: StageRun, LimitsHit: []string{}, Labels: l,
		Usage: Usage{CPU: none, User: none, System: none, Memory: none, MaxRSS: none, Pids: none,
			OOMKills: none, ForksRefused: none},
	}
}
