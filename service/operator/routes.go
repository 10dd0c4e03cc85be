package operator

import (
	"reflect"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/openapi"
)

const group = "Operate"

// Routes returns the operations for those who keep the service running.
func (o *Operator) Routes() []openapi.Route {
	within := []openapi.Param{openapi.Query("since", "only entries of this time or later (RFC 3339)", openapi.Moment),
		openapi.Query("until", "only entries before this time (RFC 3339)", openapi.Moment)}
	ofAll := openapi.Query("all", "true: include all keys; for keys with admin", openapi.YesNo)

	return []openapi.Route{
		{Method: "GET", Path: "/v1/overview", Name: "overview", Group: group,
			Summary: "What the service does now, and did in the last 15 minutes",
			About: "A key sees its own part of the queue and its own sessions; one with admin those of all keys, and " +
				"how many runs ended. The past has a moment for each 5 seconds since the service started.",
			Serve: o.getOverview, Answer: reflect.TypeFor[api.Overview]()},
		{Method: "GET", Path: "/v1/overview/events", Name: "overviewEvents", Group: group,
			Summary: "What the service does, as it goes on",
			About: "Server-sent events: overview at once, and then each 5 seconds. The stream ends with the service, " +
				"and when the key is removed.",
			Serve: o.overviewEvents, Kind: core.EventStream},
		{Method: "GET", Path: "/v1/failures", Name: "failures", ReadsMuch: true, Group: group,
			Summary: "What brig itself failed, by code: programs that were not judged",
			About: "Each code has its cause, its cure and the last runs. These runs are no verdicts, and no average " +
				"has them. Those after the last acknowledgement are open.",
			Serve: o.getFailures, Answer: reflect.TypeFor[api.Failures](),
			Params: slices.Concat([]openapi.Param{openapi.Query("project", "only runs of this project", nil)}, within, []openapi.Param{ofAll})},
		{Method: "POST", Path: "/v1/failures/{code}/acknowledge", Name: "acknowledgeFailures", Fails: []int{404}, Group: group,
			Summary: "Say that you have looked at the failures of a code",
			About: "Later ones are open again. With all=true it is said of the runs of all keys. The audit log has it; the " +
				"runs stay as they are.",
			Serve: o.acknowledge, Answer: reflect.TypeFor[api.AuditEntry](), Params: []openapi.Param{ofAll}},
		{Method: "GET", Path: "/v1/images", Name: "images", Agent: true, Group: group,
			Summary: "Languages with their images: versions, sizes, and the command for what is missing",
			About: "A service has no privileges, so it stores no image: command is for root on the machine. Images " +
				"that no language names are listed for keys with admin.",
			Serve: o.getImages, Answer: reflect.TypeFor[api.Images]()},
		{Method: "GET", Path: "/v1/machines", Name: "machines", Group: group,
			Summary: "The machines that run programs",
			About: "The first one is that of the service's agent, which executes all of its runs. The workers of an " +
				"engine follow if the service knows one (brig serve --engine).",
			Serve: o.getMachines, Answer: reflect.TypeFor[api.Page[api.Machine]]()},
		{Method: "POST", Path: "/v1/machines/{worker}/drain", Name: "drainMachine", Fails: []int{404}, Group: group,
			Audit:   api.AuditMachineDrained,
			Summary: "Have a worker take no more jobs, and end when it has finished those that it has",
			About:   "Only for keys with admin. Start the worker again on its machine to have it take jobs again.",
			Serve:   o.drain, Answer: reflect.TypeFor[api.Machine]()},
		{Method: "GET", Path: "/v1/keys", Name: "keys", ReadsMuch: true, Group: group,
			Summary: "The keys: what each may do and does",
			About: "Only for keys with admin; none if the service has no keys. It has neither keys nor their digests. " +
				"brig key add, rotate and rm change them.",
			Serve: o.getKeys, Answer: reflect.TypeFor[api.Page[api.KeyUse]]()},
		{Method: "GET", Path: "/v1/audit", Name: "audit", ReadsMuch: true, Group: group,
			Summary: "Who changed what, the newest first",
			About: "Only for keys with admin. It has changes of what stays: keys, problems, batches, volumes, labels that " +
				"were ended, acknowledgements, workers, and starts of the service. The last 10,000 are kept; beyond that " +
				"the oldest ones of the key with most are removed.",
			Serve: o.getAudit, Answer: reflect.TypeFor[api.Page[api.AuditEntry]](),
			Params: slices.Concat([]openapi.Param{openapi.Query("by", "only changes by this key", nil)}, within, openapi.Paging)},
		{Method: "GET", Path: "/v1/installation", Name: "installation", Group: group,
			Summary: "The settings in force, and what brig doctor finds on the machine",
			About:   "Only for keys with admin. Checks that only root can make are named: sudo brig doctor makes them.",
			Serve:   o.getInstallation, Answer: reflect.TypeFor[api.Installation]()},
	}
}
