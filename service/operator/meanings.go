package operator

import "github.com/brig-sandbox/brig/api"

// A meaning says in words what a code is about.
type meaning struct {
	cause, cure string
	retry       bool // the same request may be sent again
}

// meanings has each code (TestEachCodeHasAMeaning). Most are refusals that a caller gets at once; the history has them of
// runs that were accepted before.
var meanings = map[api.Code]meaning{
	api.CodeInternal: {"a step of brig failed; the run left nothing behind",
		"read the message, and the log of the agent and of the service at that time; retry", true},
	api.CodeAgentGone: {"the connection to the agent broke while the run was under way: the agent ended or was killed",
		"journalctl -u brigd, and dmesg if the kernel killed it for memory; retry", true},
	api.CodeAgentUnreachable: {"nothing answered at the agent's socket", "start brigd, or look at journalctl -u brigd", true},
	api.CodeHostMemory: {"the kernel killed the run for the limit of a control group above its own",
		"give the agent more memory (MemoryMax of its unit), or lower --memory of brigd", true},
	api.CodeHostExhausted: {"the machine had no descriptors, processes, memory or disk space left",
		"the message names what; raise that limit of brigd's unit, or free some", true},
	api.CodeImageDamaged: {"files of the stored image are not as they were imported",
		"build or import the image again: sudo brig rootfs verify NAME, sudo brig rootfs build NAME", true},
	api.CodeSetupTimeout: {"a sandbox was not ready in time: the machine is overloaded, or its disk is slow",
		"give the agent fewer slots (brigd --slots), or take other work from the machine", true},
	api.CodeStopping: {"the service or the agent was stopped during the run, and did not wait longer",
		"retry; a longer --grace gives runs more time", true},
	api.CodePoison: {"each worker that began the job ended or failed before it was judged",
		"look at the job: something in it may end a worker; then send it again alone", false},
	api.CodeCheckFailed: {"the checker or the interactor of the problem did not keep to its protocol",
		"mend the checker: the message names the test and how it ended; then judge the program again", false},
	api.CodeUnsupported: {"the machine's kernel lacks a feature that the run needs",
		"the message names the feature: sudo brig doctor says how to get it", false},
	api.CodeOverloaded: {"no memory was left to reserve for the run",
		"lower the memory limits of runs, or raise --memory of brigd", true},
	api.CodeBusy:         {"every slot was taken by other clients of the agent", "retry later, or give the agent more slots", true},
	api.CodeQueueTimeout: {"the run waited for a slot as long as a request may", "more slots or machines, or a longer --wait", true},
	api.CodeQueueFull: {"more requests waited than may",
		"a longer queue (--queue), more slots, or a batch, whose jobs wait without a place", true},
	api.CodeKeyQueueFull: {"more requests of the key waited than may", "raise waiting of the key, or send fewer at once", true},
	api.CodeTooManyConns: {"there were more connections than may be", "raise --max-conns, or keep connections open", true},
	api.CodeTooManyBodies: {"more requests were uploaded at once than may be",
		"raise --max-bodies or bodies of the key, or send fewer at once", true},
	api.CodeSessionsFull: {"there were as many sessions as may be", "end sessions that nobody uses", true},
	api.CodeSessionBusy:  {"the session had its maximum of commands", "wait for one to end", true},
	api.CodePackagesFailed: {"the packages of the run could not be installed",
		"read the installer's words in the message: a wrong name, or the index does not answer", false},
	api.CodePackagesMissing: {"packages of the run were not installed yet", "have them installed, then send the run again", true},
	api.CodeNoImage:         {"the image of the run is not stored", "store it: the page Images has the command", false},
	api.CodeBadVolume:       {"the file system of a volume is damaged", "restore it from a backup, or remove the volume", false},
	api.CodeNoSpace:         {"the file system in the session was full", "remove files there, or raise its limit", false},
	api.CodeCanceled:        {"the batch was canceled before the job was judged", "send the job in another batch", true},
	api.CodeBatchesFull:     {"the key had as many batches as it may", "remove batches that have ended", true},

	api.CodeBadRequest: ofCaller, api.CodeTooLarge: ofCaller, api.CodeBadLimits: ofCaller, api.CodeAboveCeiling: ofCaller,
	api.CodeBadFile: ofCaller, api.CodeNoLanguage: ofCaller, api.CodeBadImage: ofCaller, api.CodeNoBlob: ofCaller,
	api.CodeNoProfile: ofCaller, api.CodeBadProfile: ofCaller, api.CodeNoProblem: ofCaller, api.CodeBadProblem: ofCaller,
	api.CodeForbidden: ofCaller, api.CodeNotFound: ofCaller, api.CodeFileDenied: ofCaller, api.CodeFileConflict: ofCaller,
	api.CodeNoProgram: ofCaller, api.CodeBadProgram: ofCaller, api.CodeSessionEnded: ofCaller, api.CodeUnauthorized: ofCaller,
	api.CodeCheckRefused: ofCaller, api.CodeConflict: ofCaller, api.CodeBatchClosed: ofCaller,
}

// ofCaller is the meaning of a refusal whose cause is in the request.
var ofCaller = meaning{"the request could not be carried out as it was", "the message says what to change in the request", false}
