package api

// Health is an agent's status report.
type Health struct {
	Status       string `json:"status"` // "ok", or "stopping"
	Version      string `json:"version"`
	Slots        int    `json:"slots"`                       // concurrent runs
	Leased       int    `json:"leased"`                      // slots in use
	Cells        int    `json:"cells"`                       // alive, leased or idle
	Sessions     int    `json:"sessions"`                    // alive
	SessionsMax  int    `json:"sessions_ceiling"`            // the maximum of sessions
	ResidentsMax int    `json:"residents_ceiling,omitempty"` // the maximum of terminals and residents of all sessions; zero: unknown
	Memory       int64  `json:"memory_committed_bytes"`      // reserved for active runs and for sessions
	MemoryMax    int64  `json:"memory_ceiling_bytes"`        // the most that it reserves in total
	// the most that the agent itself uses, in addition to what it reserves and to image files
	AgentMemoryMax int64 `json:"agent_memory_ceiling_bytes"`
	ImagesHeld     int64 `json:"image_memory_bytes"` // image files held in memory, in addition to what is reserved
	// size of all files of the images in use; if it is above image_memory_bytes, measurements can depend on the page
	// cache
	ImagesWanted int64 `json:"image_memory_wanted_bytes"`
	ImagesMax    int64 `json:"image_memory_ceiling_bytes"` // the most image memory that is held; zero: none
	// digests of stored images whose files are not as they were imported; their runs are refused
	ImagesDamaged []string  `json:"images_damaged,omitempty"`
	ImageRoom     *int64    `json:"image_room_bytes,omitempty"` // free bytes on the file system of the image store; null: not known
	Templates     Templates `json:"templates"`

	BlobsMax    int64 `json:"blobs_ceiling_bytes,omitempty"`    // the most disk space for all blobs; zero: there are no blobs
	VolumesMax  int64 `json:"volumes_ceiling_bytes,omitempty"`  // the most disk space for all volumes; zero: there are no volumes
	OtherAgents int64 `json:"memory_of_others_bytes,omitempty"` // reserved by other agents that were alive when this one started
	// most that a run may request; zero fields do not bound, except of swap and cpuset
	Ceiling    Limits `json:"ceiling,omitzero"`
	Network    string `json:"network,omitempty"`     // most that callers other than root may request for a run; empty: none
	ProfileLog bool   `json:"profile_log,omitempty"` // whether callers other than root may use profile mode log
	OwnImage   bool   `json:"own_image,omitempty"`   // whether callers other than root may have sessions that own their image
	Packages   bool   `json:"packages,omitempty"`    // whether callers other than root may have packages installed
	UptimeNS   int64  `json:"uptime_ns"`
	Kernel     string `json:"kernel"`
	CgroupMode string `json:"cgroup_mode"`
}

// Templates are an agent's templates of started interpreters.
type Templates struct {
	Kept    int    `json:"kept"`
	Bytes   int64  `json:"bytes"`             // memory that they take, in addition to what is reserved
	Max     int64  `json:"ceiling_bytes"`     // the most that they take; zero: none are made
	Made    int64  `json:"made"`              // since the agent's start
	Failed  int64  `json:"failed"`            // that could not be made, and runs that could not begin from one
	Problem string `json:"problem,omitempty"` // of a failure that is not over; empty: there is none
}

// A Language is a language that the agent can run.
type Language struct {
	Name         string   `json:"name" doc:"name to use in requests"`
	Aliases      []string `json:"aliases,omitempty" doc:"other names to use in requests"`
	Extensions   []string `json:"extensions" doc:"file name extensions of source files, without the dot"`
	Image        string   `json:"image" doc:"name of the stored image"`
	ImageFrom    string   `json:"image_from,omitempty" doc:"reference of a registry's image that brig rootfs pull stores under that name; empty: the image is built or imported"`
	Stored       bool     `json:"stored" doc:"whether that image is stored"`
	Lacks        []string `json:"lacks,omitempty" doc:"what the language needs and the image lacks because it is older; runs are refused until the image is built again"`
	Tier         string   `json:"tier" doc:"seccomp tier of programs"`
	CompileTier  string   `json:"compile_tier,omitempty" doc:"seccomp tier of the compiler; empty: there is no compile stage"`
	Flags        []string `json:"flags,omitempty" doc:"compiler flags that a run may set"`
	FlagPatterns []string `json:"flag_patterns,omitempty" doc:"regular expressions for further flags; one of them must match the whole flag"`
	DefaultFlags []string `json:"default_flags,omitempty" doc:"compiler flags of a run that sets none"`
	TimeFactor   float64  `json:"time_factor,omitempty" doc:"factor for judges that scale a task's time limit; absent: 1"`
	MemoryFactor float64  `json:"memory_factor,omitempty" doc:"factor for judges that scale a task's memory limit; absent: 1"`
	Version      string   `json:"version,omitempty" doc:"version of the compiler or interpreter"`

	Packages *LanguagePackages `json:"packages,omitempty" doc:"how packages are installed for it; absent: requirements are refused"`
}

// A Profile is a seccomp profile that the agent can load.
type Profile struct {
	Name string `json:"name"`
	Tier string `json:"tier,omitempty"` // the tier that it starts from; empty for a tier itself
	Why  string `json:"why,omitempty"`
	Hash string `json:"hash,omitempty"`
}

// Tiers names the tiers of the compiler and of the program; only once if they are the same.
func (l Language) Tiers() string {
	if l.CompileTier == "" || l.CompileTier == l.Tier {
		return l.Tier
	}
	return l.CompileTier + ", " + l.Tier
}
