package harness

import (
	"github.com/brig-sandbox/brig/api"
)

// A party can cause an error and must then act.
type party string

const (
	byCaller   party = "caller"   // sent the request: a judge, a script, never the author of the program
	byOperator party = "operator" // installed brig, its images, profiles and manifests
	byHost     party = "host"     // the machine, or what else runs on it
	ByAuthor   party = "author"   // the author of what was submitted
)

// Responsible lists for every code the parties that can cause it. A submission gets a verdict: the only
// code that its author can cause is the one that a request with check=refuse asks for.
var Responsible = map[api.Code][]party{
	api.CodeBadRequest: {byCaller}, api.CodeTooLarge: {byCaller}, api.CodeBadLimits: {byCaller}, api.CodeAboveCeiling: {byCaller, byOperator},
	api.CodeBadFile: {byCaller}, api.CodeNoLanguage: {byCaller}, api.CodeNoImage: {byCaller, byOperator}, api.CodeBadImage: {byCaller},
	api.CodeNoBlob: {byCaller}, api.CodeNoProfile: {byCaller}, api.CodeBadProfile: {byCaller, byOperator},
	api.CodeForbidden: {byCaller, byOperator},
	api.CodeNoProblem: {byCaller}, api.CodeBadProblem: {byCaller},
	api.CodeNotFound: {byCaller}, api.CodeBadVolume: {byOperator, byHost}, api.CodeNoProgram: {byCaller, byOperator},
	api.CodeBadProgram:   {byCaller, byOperator},
	api.CodeSessionEnded: {byCaller}, api.CodeUnsupported: {byCaller, byOperator}, api.CodeUnauthorized: {byCaller},
	api.CodeConflict:   {byCaller},
	api.CodeFileDenied: {byCaller}, api.CodeFileConflict: {byCaller}, api.CodeNoSpace: {byCaller},
	api.CodeKeyQueueFull: {byCaller}, api.CodeSessionBusy: {byCaller},
	api.CodePackagesFailed: {byCaller, byHost}, api.CodePackagesMissing: {byCaller, byHost},

	api.CodeCheckFailed: {byCaller}, // the author of the checker
	api.CodeBatchClosed: {byCaller}, api.CodeBatchesFull: {byCaller},
	api.CodePoison: {byHost}, api.CodeCanceled: {byCaller},

	api.CodeCheckRefused: {ByAuthor},

	api.CodeBusy: {byHost}, api.CodeSessionsFull: {byHost}, api.CodeOverloaded: {byHost}, api.CodeHostMemory: {byHost},
	api.CodeHostExhausted: {byHost},
	api.CodeImageDamaged:  {byHost, byOperator}, api.CodeSetupTimeout: {byHost}, api.CodeStopping: {byOperator}, api.CodeInternal: {byHost},
	api.CodeAgentGone: {byHost}, api.CodeAgentUnreachable: {byOperator, byHost},
	api.CodeQueueFull: {byHost}, api.CodeTooManyConns: {byHost}, api.CodeTooManyBodies: {byHost}, api.CodeQueueTimeout: {byHost},
}
