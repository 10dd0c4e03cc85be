package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// MEM-17: without the memory controller the agent does not start, and says what is missing. An
// empty file system over it, in the agent's own mount namespace, hides the controller.
func TestHostileMissingController(t *testing.T) {
	testenv.NeedRoot(t)
	unshare := testenv.NeedTool(t, "unshare", "util-linux")
	where := memoryHierarchy(t).mount
	dir := publicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	ctx, cancel := context.WithDeadline(t.Context(), patience())
	defer cancel()
	socket := filepath.Join(dir, "s")
	cmd := exec.CommandContext(ctx, unshare, "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs none "$0" && exec "$@"`, where,
		binary(t, "brigd"), "--socket", socket, "--data-dir", dataDir(t), "--run-dir", filepath.Join(dir, "run"))
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if ctx.Err() != nil || err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("brigd without %s: %v; want exit code 1\n%s", where, err, &said)
	}
	if !strings.Contains(said.String(), "cgroup") || !strings.Contains(said.String(), filepath.Base(where)) {
		t.Errorf("brigd does not say what it misses: %s", &said)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket is there: %v", err)
	}
}

// NS-03, the second layer: where the filter lets every call through, the sysctl still forbids user
// namespaces, and without a capability no other kind can be created.
func TestHostileNamespacesWithoutTheFilter(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	r := program(buildProbe(t, "NS-03"))
	r.ProfileMode, r.Limits = api.Log, hostileLimits()
	res := a.run(t, r)
	wantVerdict(t, res, api.OK)
	list := attempts(t, res.Stdout)
	if len(list) != 16 {
		t.Errorf("%d attempts; want 16", len(list))
	}
	for _, got := range list {
		want := "EPERM"
		if strings.HasSuffix(got.Call, "NEWUSER") || strings.HasSuffix(got.Call, "all") {
			want = "ENOSPC"
		}
		if got.Errno != want {
			t.Errorf("%s: %s; want %s", got.Call, got.Errno, want)
		}
	}
	if len(res.Logged) == 0 {
		t.Error("nothing is logged: the calls have not gone past the filter")
	}
}

// SEC-07: a 32-bit entry in one thread of two ends the whole run at once, with a verdict that names
// the architecture. The kernel's own answer would end only the thread, and the run would continue
// to its wall limit.
func TestHostileForeignEntryIsNamed(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	probe := buildProbe(t, "SEC-07")
	both(t, func(t *testing.T, mode api.Mode) {
		r := program(probe)
		r.Mode, r.Limits = mode, hostileLimits()
		promptly(t, time.Second, func() time.Duration {
			res := a.run(t, r)
			wantVerdict(t, res, api.Denied)
			if d := res.Denial; d == nil || d.Arch != "i386" || d.Number != 20 || d.Rule == "" || d.Why == "" {
				t.Errorf("denial %+v; want call 20 of i386", d)
			}
			return time.Duration(res.Timing.Wall + res.Timing.Finish)
		})
	})
}

// RES-22, seen from the host: when a run that left as much as it could has been answered, none of
// its processes is alive.
func TestHostileResidueIsGoneFromTheHost(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	residue := buildProbe(t, "residue")
	residue.Name = fmt.Sprintf("residue-of-%d", os.Getpid()) // not the name of another test that runs now
	for range 3 {
		r := program(residue)
		r.Limits = hostileLimits()
		wantVerdict(t, a.run(t, r), api.OK)
		if left := processesNamed(t, "./"+residue.Name); len(left) != 0 {
			t.Fatalf("processes of an answered run are alive: %v", left)
		}
	}
	res := a.run(t, program(buildProbe(t, "RES-22")))
	wantVerdict(t, res, api.OK)
	if strings.Contains(string(res.Stdout), "RESIDUE") {
		t.Errorf("the next run sees %q", res.Stdout)
	}
}

// processesNamed lists the processes of the host whose argv[0] is name.
func processesNamed(t testing.TB, name string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(file string) bool {
		text, err := os.ReadFile(file) // of a process that has ended: an error, or nothing
		return err != nil || !strings.HasPrefix(string(text), name+"\x00")
	})
}

// otherTests lists cases of the corpus that are no single probe, and the tests that show them.
var otherTests = []struct{ id, title, file, test string }{
	{"AGT-01", "a killed agent, twenty times under load", "e2e/crash_test.go", "TestKilledAgentLeavesNothing"},
	{"AGT-01", "a session whose agent is killed", "e2e/session_apart_test.go", "TestKilledAgentTakesItsSessions"},
	{"AGT-02", "damaged state of a dead agent", "runtime/sweep_test.go", "TestSweepOfDamagedState"},
	{"AGT-03", "no room for an import", "rootfs/shortage_test.go", "TestImportOnAFullDisk"},
	{"AGT-03", "no room for a run directory", "e2e/shortage_test.go", "TestShortOfDisk"},
	{"AGT-04", "descriptors and goroutines after a storm of cancels", "agent/storm_test.go", "TestAStormOfCancelsLeavesNothing"},
	{"AGT-04", "descriptors and goroutines after many runs", "e2e/leak_test.go", "TestMixedRunsLeakNothing"},
	{"AGT-04", "sessions and execs, many after each other", "e2e/session_leak_test.go", "TestSessionsLeakNothing"},
	{"AGT-05", "groups, mounts, namespaces after many runs", "e2e/leak_test.go", "TestMixedRunsLeakNothing"},
	{"AGT-07", "no descriptors left", "e2e/shortage_test.go", "TestShortOfDescriptors"},
	{"AGT-08", "no processes left", "e2e/shortage_test.go", "TestShortOfProcesses"},
	{"AGT-09", "memory runs out above the runs", "e2e/hostile_agent_test.go", "TestHostileAgentOutlivesItsRuns"},
	{"AGT-10", "a panic in a handler", "agent/refuse_test.go", "TestAPanicFailsOneRequest"},
	{"AGT-10", "a panic in the middle of a run", "runtime/fault_test.go", "TestEveryStepFailsClosed"},
	{"AGT-11", "a stop lets runs end", "e2e/stopping_test.go", "TestStoppingLetsRunsEndAndRefusesOthers"},
	{"AGT-11", "a stop ends runs that do not", "e2e/crash_test.go", "TestStopUnderLoad"},
	{"AGT-12", "a thousand callers leave as their run ends", "e2e/stopping_test.go", "TestLeavingAtTheEndIsHarmless"},
	{"AGT-13", "a mount kept busy", "e2e/hostile_agent_test.go", "TestHostileBusyMountDelaysNothing"},
	{"AGT-13", "a group that is busy for a while, or stays so", "cgroups/group_test.go", "TestRemovalWaitsForABusyGroup"},
	{"AGT-13", "a cell that cannot be destroyed completely", "runtime/fault_test.go", "TestEveryStepFailsClosed"},
	{"AGT-15", "the agent is moved to another group", "e2e/hostile_agent_test.go", "TestHostileMoveOfTheAgentIsReported"},
	{"AGT-16", "hosts that give too little, by what is found", "doctor/doctor_test.go", "TestJudge"},
	{"AGT-16", "hosts that give too little", "e2e/weak_test.go", "TestWeakHostIsRefusedWithTheReason"},
	{"AGT-17", "any step of set-up fails, and nothing runs", "runtime/fault_test.go", "TestEveryStepFailsClosed"},
	{"AGT-17", "any step of a session fails", "runtime/session_fault_test.go", "TestEverySessionStepFailsClosed"},
	{"AGT-20", "a hundred cells at once", "e2e/hostile_agent_test.go", "TestHostileManyStartsAtOnce"},
	{"AGT-21", "output of all slots in the agent's memory", "e2e/hostile_held_test.go", "TestHostileOutputFitsTheAgentsMemory"},
	{"AGT-21", "tests that may keep most of the agent's memory", "e2e/hostile_held_test.go", "TestLargeTestsLeaveMemoryToOthers"},
	{"API-01", "bodies that are not requests", "e2e/gateway_refusals_test.go", "TestGatewayRefusals"},
	{"API-02", "connections that say nothing", "agent/refuse_test.go", "TestConnectionsOverTheLimitWait"},
	{"API-02", "idle connections and slow headers", "gateway/connlimit_test.go", "TestIdleConnectionsBlockNoClient"},
	{"API-02", "bodies that come slowly, or not at all", "gateway/body_test.go", "TestSlowBodiesReserveNoMemory"},
	{"API-02", "slow bodies of one key through a proxy", "e2e/gateway_hostile_test.go", "TestGatewaySlowBodiesOfAKey"},
	{"API-04", "JSON that is abused", "e2e/gateway_refusals_test.go", "TestGatewayRefusals"},
	{"API-05", "limits that make no sense", "api/limits_test.go", "TestLimitsThatMakeNoSenseAreRefused"},
	{"API-06", "names of files, over each way they can come", "e2e/gateway_hostile_test.go", "TestGatewayFileNames"},
	{"API-07", "arguments that look like flags", "api/validate_test.go", "TestValidate"},
	{"API-08", "variables with NUL", "api/validate_test.go", "TestValidate"},
	{"API-09", "requests that two servers read differently", "e2e/gateway_refusals_test.go", "TestGatewayRefusals"},
	{"API-11", "a foreign page in a browser", "e2e/gateway_refusals_test.go", "TestGatewayRefusals"},
	{"API-12", "a public address without keys", "e2e/gateway_killed_test.go", "TestServeWithoutKeysRefusesPublicAddresses"},
	{"API-14", "data of another key", "e2e/gateway_test.go", "TestGatewayKeys"},
	{"API-15", "more requests than the service can serve", "e2e/gateway_refusals_test.go", "TestGatewayFlood"},
	{"API-15", "execs of one session", "gateway/slots_test.go", "TestExecsOfASessionHoldFewSlots"},
	{"API-16", "a storm of cancels", "agent/storm_test.go", "TestAStormOfCancelsLeavesNothing"},
	{"API-17", "addresses in every field that takes text", "e2e/gateway_hostile_test.go", "TestGatewayFetchesNothing"},
	{"API-18", "requirements that are options and addresses", "e2e/gateway_hostile_test.go", "TestGatewayFetchesNothing"},
	{"API-21", "profiling and debugging", "e2e/gateway_refusals_test.go", "TestGatewayRefusals"},
	{"API-27", "session ids that are guessed, or belong to another key", "e2e/gateway_hostile_test.go", "TestGatewaySessionsAreNotGuessed"},
	{"API-30", "requests about past runs next to runs", "gateway/reads_test.go", "TestReadsOfOneKeyAreOneAtATime"},
	{"CAP-04", "a call for each capability", "e2e/hostile_caps_test.go", "TestHostileCapabilities"},
	{"CAP-05", "supplementary groups of the agent", "e2e/hostile_inherited_test.go", "TestHostileNothingOfTheAgentIsInherited"},
	{"CAP-06", "ids that overflow", "api/decode/decode_test.go", "TestDecodeRunIsStrict"},
	{"CAP-09", "signal state of the agent", "e2e/hostile_inherited_test.go", "TestHostileNothingOfTheAgentIsInherited"},
	{"CMP-01", "sources that are endless work for the compiler", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-02", "devices as sources", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-03", "files of the host by include", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-04", "files of the host by other ways", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-05", "code at compile time", "e2e/hostile_compile_test.go", "TestHostileCompileTimeCode"},
	{"CMP-06", "a flood of diagnostics", "e2e/compile_test.go", "TestCompileError"},
	{"CMP-07", "an endless artifact", "e2e/hostile_compile_test.go", "TestHostileArtifacts"},
	{"CMP-08", "links, directories, pipes for artifacts", "e2e/hostile_compile_test.go", "TestHostileArtifacts"},
	{"CMP-09", "survivors of a compiler", "e2e/hostile_compile_test.go", "TestHostileCompileLeavesNothing"},
	{"CMP-10", "residue of the compile stage", "e2e/hostile_compile_test.go", "TestHostileCompileLeavesNothing"},
	{"CMP-11", "options of compilers", "e2e/hostile_compile_test.go", "TestHostileCompilerOptions"},
	{"CMP-12", "pragmas", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-13", "endless nesting", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-14", "names of sources", "e2e/hostile_compilers_test.go", "TestHostileSourceNames"},
	{"CMP-15", "objects for sources", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-15", "classes brought along", "e2e/hostile_compilers_test.go", "TestHostileSuppliedClasses"},
	{"CMP-16", "the cache of artifacts", "e2e/hostile_compile_test.go", "TestHostileCompileCache"},
	{"CMP-17", "loaders of one's own", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-18", "a compiler that forks", "e2e/hostile_compile_test.go", "TestHostileCompileWidthAndWaiting"},
	{"CMP-19", "a compiler that waits for a network", "e2e/hostile_compile_test.go", "TestHostileCompileWidthAndWaiting"},
	{"CMP-20", "libraries for programs", "e2e/hostile_compilers_test.go", "TestHostileCompilers"},
	{"CMP-20", "artifacts that are not programs", "e2e/codes_test.go", "TestHostileProgramsGetAVerdict"},
	{"CMP-20", "sources that are too large", "e2e/codes_test.go", "TestAProgramThatIsTooLargeGetsAVerdict"},
	{"CMP-20", "programs of damaged bytes", "e2e/codes_test.go", "TestHostileDamagedProgramsGetAVerdict"},
	{"CPU-10", "limits that make no sense", "api/decode/decode_test.go", "TestDecodeRunIsStrict"},
	{"CPU-12", "sleepers in every slot", "e2e/hostile_sidebyside_test.go", "TestHostileSleepersCannotHoldEverySlot"},
	{"CPU-13", "processors by name", "runtime/plan/cpus_test.go", "TestOnlyRootNamesProcessors"},
	{"CPU-13", "weight and processors above a key's", "gateway/key_limits_test.go", "TestKeyLimitsApplyToEveryPartOfARun"},
	{"CPU-15", "storms of processor time, and what sessions leave running", "e2e/hostile_storms_test.go", "TestHostileStormsLeaveTheNeighbourAlone"},
	{"FIO-01", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-02", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-03", "names that could mean another place", "api/validate_test.go", "TestFileNamesOutsideOfBoxAreRefused"},
	{"FIO-03", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-04", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-05", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-08", "names exchanged under our hands, in a session", "e2e/session_files_test.go", "TestHostileSwapsInASession"},
	{"FIO-11", "inputs placed through links", "runtime/cell/input_files_test.go", "TestInputsArePlacedThroughNoLink"},
	{"FIO-11", "inputs over links", "e2e/hostile_files_test.go", "TestHostileInputsOverLinks"},
	{"FIO-11", "links and files that are not regular, in a session", "e2e/session_files_test.go", "TestHostileNamesInASession"},
	{"FIO-12", "inputs that clash, or look like flags and scripts", "api/validate_test.go", "TestValidate"},
	{"FIO-12", "names with escapes, on the disk and terminal of the caller", "cmd/brig/report_test.go", "TestNamesThatATerminalObeysAreNotWritten"},
	{"FIO-13", "a file of a session is executed as soon as it is put", "e2e/session_files_test.go", "TestSessionFiles"},
	{"FIO-14", "owners and modes behind links", "e2e/hostile_files_test.go", "TestHostileOutputsTouchNothing"},
	{"FIO-15", "what comes back in a directory", "e2e/hostile_files_test.go", "TestHostileOutputsTouchNothing"},
	{"FIO-16", "archives that grow, told to the caller", "e2e/errors_test.go", "TestHostileArchivesAreRefusedOverTheSocket"},
	{"FIO-16", "archives that grow", "rootfs/bounds_test.go", "TestBombsAreStopped"},
	{"FIO-17", "answers and the inputs of other tests", "e2e/hostile_answers_test.go", "TestHostileExpectedOutputIsAbsent"},
	{"FIO-18", "endless files, and links out of a directory, that the command line reads", "cmd/brig/script_test.go", "TestScripts"},
	{"FIO-19", "escape sequences in what brig prints of submissions, tests and answers", "cmd/brig/report_test.go", "TestWordsThatATerminalObeysAreNotWritten"},
	{"FIO-20", "links in the place of a result file", "cmd/brig/script_test.go", "TestScripts"},
	{"FIO-21", "long names under globs that nearly match them", "e2e/hostile_globs_test.go", "TestHostileGlobsAreCheap"},
	{"FIO-21", "a look for files that takes too long", "runtime/run/collect_test.go", "TestCollectingEnds"},
	{"FIO-21", "a cancel while files are collected", "runtime/run_test.go", "TestCancelEndsCollecting"},
	{"FS-07", "a working directory through a magic link", "e2e/hostile_paths_test.go", "TestHostileWorkDirThroughAMagicLink"},
	{"FS-09", "a device of an image", "e2e/hostile_image_test.go", "TestHostileDeviceOfAnImage"},
	{"FS-10", "a setuid file of an image", "e2e/hostile_image_test.go", "TestHostilePrivilegedFilesOfAnImage"},
	{"FS-11", "a file of an image with capabilities", "e2e/hostile_image_test.go", "TestHostilePrivilegedFilesOfAnImage"},
	{"CPU-40", "a lock of the whole kernel on a run's path", "runtime/pool/epoll_nesting_test.go", "TestEpollSetsAreNotNested"},
	{"CPU-42", "locks of files that take the agent long to count", "e2e/record_locks_counted_test.go", "TestCountingLocksKeepsTheWallLimit"},
	{"CPU-43", "a termination with a low weight next to neighbours that compute", "e2e/death_weight_test.go", "TestDeathHasTheUsualWeight"},
	{"CPU-44", "locks on files of the image, which a neighbour's execs look through", "e2e/shared_locks_test.go", "TestLocksOfSharedFilesAreFew"},
	{"CPU-45", "many sessions whose locks take the agent long to count", "e2e/session_looks_test.go", "TestScansOfSessionsShareATimeBudget"},
	{"MEM-40", "record locks, which no group is charged for", "e2e/record_locks_test.go", "TestRecordLocksAreBounded"},
	{"MEM-42", "tables of poll and select, which no group is charged for", "runtime/plan/memory_test.go", "TestInputMemory"},
	{"MEM-41", "locks of whole files, which no group is charged for", "e2e/file_locks_test.go", "TestFileLocksAreBounded"},
	{"MEM-41", "locks of open files and leases, under an operator's profile", "e2e/file_locks_test.go", "TestOpenFileDescriptionLocksAreRefused"},
	{"PID-40", "a storm of refused calls", "e2e/refused_test.go", "TestStormOfRefusedCallsIsBounded"},
	{"AGT-40", "a profile that refuses what cellinit needs", "e2e/profile_calls_test.go", "TestProfileWithoutAnyCall"},
	{"AGT-41", "a process whose termination takes the kernel long", "runtime/termination_test.go", "TestSlowTerminationKeepsItsVerdict"},
	{"SEC-43", "a forbidden call of a child, while the program ends by itself", "e2e/late_denial_test.go", "TestHostileLateDenials"},
	{"FIO-22", "files of the image read past the page cache", "e2e/hostile_direct_test.go", "TestHostileDirectReads"},
	{"AGT-42", "an agent that looks when the wall limit is long over", "runtime/late_test.go", "TestLateAgentKeepsTheVerdict"},
	{"AGT-43", "many lists of a session's files, whose names are long", "e2e/hostile_lists_test.go", "TestHostileListsFitTheAgentsMemory"},
	{"SEC-42", "a program that passes the mark of cellinit's calls", "e2e/profile_calls_test.go", "TestProgramPassesCellinitsMark"},
	{"FS-20", "the image's bytes, as host and neighbour see them", "e2e/hostile_posture_test.go", "TestHostileImageIsUnchanged"},
	{"FS-22", "the host's paths in tables of mounts", "e2e/hostile_paths_test.go", "TestHostilePathsInMountTables"},
	{"FS-23", "system directories that lead out, in a stored tree", "e2e/hostile_image_test.go", "TestHostileLinksInPlacesOfAnImage"},
	{"FS-24", "links in the places of files that runtimes hide", "e2e/hostile_image_test.go", "TestHostileLinksInPlacesOfAnImage"},
	{"FS-27", "locks of devices", "e2e/hostile_channel_test.go", "TestHostileLocksOfDevices"},
	{"FS-29", "/dev/shm of the neighbour", "e2e/hostile_neighbour_test.go", "TestHostileSharedMemoryOfTheNeighbour"},
	{"IMG-01", "names that lead out of the tree", "rootfs/import_test.go", "TestImportRefuses"},
	{"IMG-02", "absolute names", "rootfs/import_test.go", "TestImportKeepsHostileLinksInside"},
	{"IMG-03", "a file through a link that leads out", "rootfs/import_test.go", "TestImportKeepsHostileLinksInside"},
	{"IMG-04", "links over two hops in an archive", "rootfs/import_test.go", "TestImportKeepsHostileLinksInside"},
	{"IMG-05", "hard links out", "rootfs/import_test.go", "TestImportRefuses"},
	{"IMG-06", "a sibling with the same prefix", "rootfs/import_test.go", "TestImportKeepsHostileLinksInside"},
	{"IMG-07", "the root replaced", "rootfs/import_test.go", "TestImportRefuses"},
	{"IMG-08", "system directories that lead out", "rootfs/store_test.go", "TestEveryImageGetsItsFixedDirectories"},
	{"IMG-09", "contents of real archives", "rootfs/import_test.go", "TestImportAccepts"},
	{"IMG-10", "devices, pipes, sockets", "rootfs/import_test.go", "TestImportRefuses"},
	{"IMG-11", "setuid and file capabilities", "rootfs/store_test.go", "TestStoredTreeBelongsToRootAlone"},
	{"IMG-14", "bombs", "rootfs/bounds_test.go", "TestBombsAreStopped"},
	{"IMG-14", "ten GiB of zeros", "rootfs/hostile_test.go", "TestAnEndlessBombIsCheapToRefuse"},
	{"IMG-15", "maps of holes in sparse files", "rootfs/bounds_test.go", "TestSparseFilesOfManyHoles"},
	{"IMG-19", "another digest", "rootfs/hostile_test.go", "TestDigestIsOfEveryByte"},
	{"IMG-20", "an importer killed half-way", "rootfs/store_test.go", "TestKilledImportLeavesNothingAfterTheNextStart"},
	{"IMG-21", "commands in an image", "rootfs/hostile_test.go", "TestMetadataInAnImageIsOnlyData"},
	{"IMG-23", "trees that other users may write to", "rootfs/store_test.go", "TestStoredTreeBelongsToRootAlone"},
	{"IMG-30", "a dictionary of 1.5 GiB", "rootfs/dictionary_test.go", "TestImportOfAHugeDictionary"},
	{"IMG-31", "a window of 1 GiB", "rootfs/window_test.go", "TestImportOfAWideWindow"},
	{"MEM-13", "memory bombs in every slot", "e2e/hostile_sidebyside_test.go", "TestHostileMemoryBombsNextToARun"},
	{"MEM-14", "swap is off in the run's group", "e2e/hostile_memory_test.go", "TestHostileSwapIsOff"},
	{"MEM-16", "a peak is of this run", "e2e/verdict_test.go", "TestPeakIsPerRun"},
	{"MEM-17", "no memory controller", "e2e/corpus_test.go", "TestHostileMissingController"},
	{"MEM-18", "the same verdicts in the mode that is named", "e2e/hostile_memory_test.go", "TestHostileCgroupModeIsNamed"},
	{"MEM-19", "files placed into a run used as memory", "e2e/hostile_placed_test.go", "TestHostileInputsAreMemory"},
	{"MEM-19", "files put into a session used as memory", "e2e/hostile_placed_test.go", "TestHostileFilesPutAreMemory"},
	{"MEM-20", "the program's own file used as memory", "e2e/hostile_placed_test.go", "TestHostileArtifactsAreNotWritable"},
	{"MEM-20", "a program that came as an input", "e2e/hostile_placed_test.go", "TestHostileProgramsAreNotWritable"},
	{"MEM-21", "limits of a few MiB", "e2e/hostile_memory_test.go", "TestHostileTinyLimits"},
	{"NET-01", "addresses of private networks and of the host, in every spelling", "e2e/network_test.go", "TestHostileAddressesAreRefused"},
	{"NET-01", "names that lead to such addresses", "egress/relay_test.go", "TestDestinations"},
	{"NET-01", "a relay that does not know its host's addresses", "egress/bounds_test.go", "TestUnknownOwnAddressesAreAnError"},
	{"NET-02", "a name with another address at the second look-up, or with two", "egress/relay_test.go", "TestDestinations"},
	{"NET-04", "TLS for another server name than the allowed one", "egress/relay_test.go", "TestServerName"},
	{"NET-05", "storms of connections and of names", "e2e/network_test.go", "TestHostileNetworkStorms"},
	{"NET-05", "connections that never end", "egress/relay_test.go", "TestConnectionsAreBoundedAndEnd"},
	{"NET-06", "names without end, and malformed queries", "egress/relay_test.go", "TestNamesAreBounded"},
	{"NET-07", "more bytes than a run may send", "egress/relay_test.go", "TestBytesAreBounded"},
	{"NET-08", "connections of a run that ends, is canceled or loses its caller", "e2e/gateway_network_test.go", "TestGatewayNetworkLeavesNothing"},
	{"NET-08", "connections of a run whose agent ends", "gateway/network_test.go", "TestNetworkEndsWithTheRun"},
	{"NET-09", "what a run at the same time listens on and may reach", "e2e/gateway_network_test.go", "TestGatewayNetworksAreApart"},
	{"NET-10", "sockets that a run leaves to the next run of its cell", "e2e/network_test.go", "TestHostileNetworkLeavesNothing"},
	{"NS-03", "user namespaces without the filter", "e2e/corpus_test.go", "TestHostileNamespacesWithoutTheFilter"},
	{"NS-11", "paths of control groups", "e2e/hostile_neighbour_test.go", "TestHostileGroupPaths"},
	{"NS-14", "ids of two runs at a time", "e2e/hostile_neighbour_test.go", "TestSlotsHaveTheirOwnIDs"},
	{"NS-18", "posture of a run, from the host", "e2e/hostile_posture_test.go", "TestHostilePosture"},
	{"OUT-07", "input that the program does not read", "e2e/stream_test.go", "TestUnreadInputDelaysNothing"},
	{"OUT-09", "owner of the file that is stdin", "e2e/hostile_files_test.go", "TestHostileStdinKeepsItsOwner"},
	{"OUT-16", "a caller that hangs up", "e2e/crash_test.go", "TestHangUpCancels"},
	{"OUT-16", "a caller that hangs up a stream", "e2e/stream_test.go", "TestAHangUpCancelsAStream"},
	{"PID-12", "group names that lead out of the parent group", "cgroups/parse_test.go", "TestGroupNamesThatEscapeAreRefused"},
	{"PID-14", "quotas the kernel keeps by user", "e2e/hostile_sidebyside_test.go", "TestHostileQuotasArePerSlot"},
	{"PID-15", "no processes at all", "e2e/errors_test.go", "TestZeroProcessesAreTheDefault"},
	{"PID-15", "limits that make no sense", "api/limits_test.go", "TestLimitsThatMakeNoSenseAreRefused"},
	{"PRC-01", "the kernel's settings where a language has all of /proc", "e2e/hostile_proc_test.go", "TestHostileFullProc"},
	{"PRC-02", "triggers, there", "e2e/hostile_proc_test.go", "TestHostileFullProc"},
	{"PRC-03", "secrets of the kernel, there", "e2e/hostile_proc_test.go", "TestHostileFullProc"},
	{"PRC-05", "other processes, there", "e2e/hostile_proc_test.go", "TestHostileFullProc"},
	{"PRC-09", "a core_pattern that is a pipe, in a machine of its own", "e2e/core_vm_test.go", "TestCrashesStartNoHelper"},
	{"PRC-14", "figures of the host below /proc/self/net", "e2e/hostile_procnet_test.go", "TestHostileNetStatistics"},
	{"RES-02", "start-up files of Python", "e2e/hostile_residue_test.go", "TestHostilePythonFindsNothingOfThePreviousRun"},
	{"RES-03", "processes, as the host sees them", "e2e/hostile_residue_test.go", "TestHostileNoProcessWaitsForTheNextRun"},
	{"RES-06", "keys if the filter allows all calls", "e2e/hostile_residue_test.go", "TestHostileResidueWithoutTheFilter"},
	{"RES-07", "residue if the filter allows all calls", "e2e/hostile_residue_test.go", "TestHostileResidueWithoutTheFilter"},
	{"RES-09", "usage is of this run", "e2e/hostile_groups_test.go", "TestHostileUsageIsPerRun"},
	{"RES-12", "memory left charged", "e2e/hostile_groups_test.go", "TestHostileMemoryChargeGoesWithTheRun"},
	{"RES-12", "names looked up left charged", "e2e/hostile_placed_test.go", "TestHostileLookupsGoWithTheRun"},
	{"RES-13", "limits left on groups and processes", "e2e/hostile_groups_test.go", "TestHostileKnobsAreUnchanged"},
	{"RES-16", "traps in the places of the next inputs", "e2e/hostile_residue_test.go", "TestHostileInputsIgnoreThePreviousRun"},
	{"RES-17", "a process waits for a program that joins", "e2e/hostile_residue_test.go", "TestHostileNoProcessWaitsForTheNextRun"},
	{"RES-19", "compiled modules of Python", "e2e/hostile_residue_test.go", "TestHostilePythonFindsNothingOfThePreviousRun"},
	{"RES-20", "packages of Python", "e2e/hostile_residue_test.go", "TestHostilePythonFindsNothingOfThePreviousRun"},
	{"RES-20", "packages in a writable root", "e2e/world_test.go", "TestWritableRootIsThrownAway"},
	{"RES-22", "residue, from the host", "e2e/corpus_test.go", "TestHostileResidueIsGoneFromTheHost"},
	{"RES-23", "a reset that fails", "runtime/fault_test.go", "TestEveryStepFailsClosed"},
	{"RES-24", "image files thrown out of the page cache before a run", "e2e/cold_image_test.go", "TestAColdImageChangesNothing"},
	{"RES-25", "a message in looked up names, pages and locks of an image, in mode exclusive", "e2e/hostile_channel_test.go", "TestHostileChannelsOfAnImage"},
	{"RES-25", "a message from test to test of one submission, in mode exclusive", "e2e/hostile_channel_test.go", "TestHostileTestsOfOneSubmission"},
	{"SEC-01", "every rule both ways", "seccomp/bpf/proof_test.go", "TestEveryRuleBothWays"},
	{"SEC-02", "sweep of call numbers", "e2e/hostile_sweep_test.go", "TestHostileSweepOfNumbers"},
	{"SEC-03", "the filter loaded is the one compared", "e2e/hostile_filter_test.go", "TestHostileLoadedFilter"},
	{"SEC-03", "the filter is the model", "seccomp/bpf/compile_test.go", "TestPartsEqualProfile"},
	{"SEC-07", "a foreign entry is named", "e2e/corpus_test.go", "TestHostileForeignEntryIsNamed"},
	{"SEC-10", "two conditions on one argument", "seccomp/lint_test.go", "TestLint"},
	{"SEC-11", "an unknown name", "seccomp/lint_test.go", "TestLint"},
	{"SEC-11", "a name that libseccomp lacks", "seccomp/bpf/proof_test.go", "TestNamesThatTheLibraryLacks"},
	{"SEC-12", "calls newer than the tables", "e2e/hostile_sweep_test.go", "TestHostileNewerCallsAreUnknown"},
	{"SEC-18", "AF_ALG under every tier", "seccomp/bpf/proof_test.go", "TestCorpus"},
	{"SEC-31", "sweep of call numbers in a used cell", "e2e/hostile_sweep_test.go", "TestHostileSweepOfNumbers"},
	{"SEC-32", "an oversize filter", "seccomp/bpf/proof_test.go", "TestOversizeFilterIsRefused"},
	{"SEC-33", "code that a caller runs first", "e2e/hostile_preload_test.go", "TestHostilePreloads"},
}

func otherTestsTable() string {
	var b strings.Builder
	b.WriteString("\n## Shown by other tests\n\n| id | title | test | on |\n|---|---|---|---|\n")
	for _, e := range otherTests {
		on := "any kernel"
		switch strings.Split(e.file, "/")[0] {
		case "cgroups", "runtime", "e2e":
			on = "v1 and v2"
		}
		if e.file == "e2e/hostile_compilers_test.go" { // the v2-only machines have no compilers
			on = "v1"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` in %s | %s |\n", e.id, e.title, e.test, e.file, on)
	}
	return b.String()
}

// What docs/corpus.md says about other tests is true: they exist and carry the id.
func TestCorpusNamesTestsThatExist(t *testing.T) {
	for _, e := range otherTests {
		text, err := os.ReadFile(filepath.Join("..", e.file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{"func " + e.test + "(t *testing.T)", e.id} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s has no %q", e.file, want)
			}
		}
	}
}

// checksums has a checksum of each file that a probe could alter for others: the image's tree,
// which all cells share, and the agent's binary.
type checksums map[string][sha256.Size]byte

func storedChecksums(t testing.TB, a *agent) checksums {
	t.Helper()
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := []string{fmt.Sprintf("/proc/%d/exe", a.cmd.Process.Pid)}
	for _, img := range list {
		if !slices.Contains(img.Names, "tiny") {
			continue
		}
		root := filepath.Join(dataDir(t), "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 3 {
		t.Fatalf("the image has no files: %v", files)
	}
	sums := checksums{}
	for _, f := range files {
		sums[f] = checksum(t, f)
	}
	return sums
}

// unchanged compares twice: the page cache, which a cell may have altered, and what is read from
// the disk after the kernel was asked to drop the cache.
func (c checksums) unchanged(t testing.TB) {
	t.Helper()
	for file, want := range c {
		if checksum(t, file) != want {
			t.Errorf("%s has changed in memory", file)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
		if err != nil {
			t.Fatal(err)
		}
		if checksum(t, file) != want {
			t.Errorf("%s has changed on disk", file)
		}
	}
}

func checksum(t testing.TB, file string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}
