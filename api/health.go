package api

// Health is what an agent says of itself.
type Health struct {
	Status       string `json:"status"` // "ok", or "stopping"
	Version      string `json:"version"`
	Slots        int    `json:"slots"`                            // runs at a time
	Leased       int    `json:"leased"`                           // of them now taken
	Cells        int    `json:"cells"`                            // alive, leased or idle
	Sessions     int    `json:"sessions"`                         // that live
	SessionsMax  int    `json:"sessions_ceiling"`                 // the most that may
	Memory       int64  `json:"memory_committed_bytes"`           // promised to runs under way, and to sessions
	MemoryMax    int64  `json:"memory_ceiling_bytes"`             // the most it promises together
	OwnMax       int64  `json:"agent_memory_ceiling_bytes"`       // the most that the agent itself takes, beside what it promises and image files
	ImagesHeld   int64  `json:"image_memory_bytes"`               // of images' files, held in memory beside what is promised
	ImagesWanted int64  `json:"image_memory_wanted_bytes"`        // what all files of the images in use take; above the former, figures can depend on the page cache
	ImagesMax    int64  `json:"image_memory_ceiling_bytes"`       // the most that is held; zero: none
	BlobsMax     int64  `json:"blobs_ceiling_bytes,omitempty"`    // the most that blobs may take up together; zero: there are none
	VolumesMax   int64  `json:"volumes_ceiling_bytes,omitempty"`  // the most that volumes may take up together; zero: there are none
	Beside       int64  `json:"memory_of_others_bytes,omitempty"` // what agents that lived at its start promise beside it
	ProfileLog   bool   `json:"profile_log,omitempty"`            // whether callers other than root may ask for profile mode log
	UptimeNS     int64  `json:"uptime_ns"`
	Kernel       string `json:"kernel"`
	CgroupMode   string `json:"cgroup_mode"`
}

// A Language is one the agent can run.
type Language struct {
	Name         string   `json:"name" doc:"by which requests ask for it"`
	Aliases      []string `json:"aliases,omitempty" doc:"other names by which requests may ask for it"`
	Extensions   []string `json:"extensions" doc:"of source files, without the dot"`
	Image        string   `json:"image" doc:"name of the stored image"`
	Stored       bool     `json:"stored" doc:"whether that image is there"`
	Lacks        []string `json:"lacks,omitempty" doc:"what the language needs and that image does not have, as it is older: it is to be built again, and runs are refused until then"`
	Tier         string   `json:"tier" doc:"seccomp tier that programs run under"`
	CompileTier  string   `json:"compile_tier,omitempty" doc:"seccomp tier of the compiler; empty: there is no compile stage"`
	Flags        []string `json:"flags,omitempty" doc:"for the compiler, that a run may ask for"`
	FlagPatterns []string `json:"flag_patterns,omitempty" doc:"regular expressions of further ones, each of which a flag must match whole"`
	DefaultFlags []string `json:"default_flags,omitempty" doc:"for the compiler, where a run names none"`
	TimeFactor   float64  `json:"time_factor,omitempty" doc:"for judges who scale a task's time limit; absent: 1"`
	MemoryFactor float64  `json:"memory_factor,omitempty" doc:"for judges who scale a task's memory limit; absent: 1"`
	Version      string   `json:"version,omitempty" doc:"of the compiler or interpreter"`
}

// A Profile is one the agent can load.
type Profile struct {
	Name string `json:"name"`
	Tier string `json:"tier,omitempty"` // that it starts from; empty for a tier itself
	Why  string `json:"why,omitempty"`
	Hash string `json:"hash,omitempty"`
}

// Tiers names the tier it is compiled under and the one it runs under; once where they
// are the same.
func (l Language) Tiers() string {
	if l.CompileTier == "" || l.CompileTier == l.Tier {
		return l.Tier
	}
	return l.CompileTier + ", " + l.Tier
}
