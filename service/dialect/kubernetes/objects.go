package kubernetes

// version is that of the Kubernetes whose answers are imitated.
const version = "1.32.3"

// kind is what every object begins with.
type kind struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion,omitempty"`
}

func kindOf(name, version string) kind { return kind{name, version} }

type versionInfo struct {
	Major      string `json:"major"`
	Minor      string `json:"minor"`
	GitVersion string `json:"gitVersion"`
	Platform   string `json:"platform"`
}

type apiVersions struct {
	kind
	Versions  []string `json:"versions"`
	Addresses []string `json:"serverAddressByClientCIDRs"`
}

type groupList struct {
	kind
	Groups []string `json:"groups"` // none
}

type resourceList struct {
	kind
	GroupVersion string     `json:"groupVersion"`
	Resources    []resource `json:"resources"`
}

type resource struct {
	Name       string   `json:"name"`
	Singular   string   `json:"singularName"`
	Namespaced bool     `json:"namespaced"`
	Kind       string   `json:"kind"`
	Verbs      []string `json:"verbs"`
	Short      []string `json:"shortNames,omitempty"`
}

// metadata is of an object; a list has none.
type metadata struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	UID       string            `json:"uid,omitempty"`
	Created   string            `json:"creationTimestamp,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

type pod struct {
	kind
	Metadata metadata  `json:"metadata"`
	Spec     podSpec   `json:"spec"`
	Status   podStatus `json:"status"`
}

type podSpec struct {
	Containers    []container `json:"containers"`
	RestartPolicy string      `json:"restartPolicy"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

type podStatus struct {
	Phase   string            `json:"phase"`
	Started string            `json:"startTime"`
	Running []containerStatus `json:"containerStatuses"`
}

type containerStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Restarts int            `json:"restartCount"`
	Image    string         `json:"image"`
	ImageID  string         `json:"imageID"`
	State    containerState `json:"state"`
}

type containerState struct {
	Running struct {
		Started string `json:"startedAt"`
	} `json:"running"`
}

type podList struct {
	kind
	Metadata metadata `json:"metadata"`
	Items    []pod    `json:"items"`
}

// A table is a list as kubectl prints it.
type table struct {
	kind
	Metadata metadata `json:"metadata"`
	Columns  []column `json:"columnDefinitions"`
	Rows     []row    `json:"rows"`
}

type column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int    `json:"priority"` // 0: always shown; 1: with -o wide
}

type row struct {
	Cells  []any     `json:"cells"`
	Object rowObject `json:"object"`
}

type rowObject struct {
	kind
	Metadata metadata `json:"metadata"`
}

// status is the answer to a request that failed.
type status struct {
	kind
	Metadata metadata `json:"metadata"`
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Reason   string   `json:"reason,omitempty"`
	Details  details  `json:"details"` // kubectl debug ends with a panic if there is none
	Code     int      `json:"code"`
}

type details struct {
	RetryAfter int `json:"retryAfterSeconds,omitempty"`
}

type namespace struct {
	kind
	Metadata metadata        `json:"metadata"`
	Status   namespaceStatus `json:"status"`
}

type namespaceStatus struct {
	Phase string `json:"phase"`
}
