package api

import "slices"

// The Values methods list the values of each closed type, for code that describes or checks them.
// TestValuesAreTheConstants compares each list with the constants.

func (Verdict) Values() []Verdict { return Verdicts() }

func (Stage) Values() []Stage { return []Stage{StageCompile, StageRun} }

func (Answer) Values() []Answer { return []Answer{Accepted, Partial, WrongAnswer} }

func (Comparison) Values() []Comparison {
	return []Comparison{
		CompareLines, CompareTokens, CompareFloat, CompareExact, CompareKattis, CompareWhiteDiff, CompareDMOJ, CompareLCB,
		CompareUnorderedLines, CompareUnorderedTokens, CompareJSON,
	}
}

func (Protocol) Values() []Protocol {
	return []Protocol{ProtocolKattis, ProtocolTestlib, ProtocolCMS, ProtocolDMOJ, ProtocolCOCI, ProtocolEjudge, ProtocolSYZOJ,
		ProtocolLemon, ProtocolPEG, ProtocolScaleBox, ProtocolNone, ProtocolExit, ProtocolPython}
}

func (PointsAs) Values() []PointsAs { return []PointsAs{PointsFraction, PointsPercent, PointsAbsolute} }

func (ReportFormat) Values() []ReportFormat {
	return []ReportFormat{ReportJUnit, ReportPytest, ReportUnittest, ReportJest, ReportPester}
}

func (ProgramIO) Values() []ProgramIO { return []ProgramIO{StdIO, FIFOIO} }

func (First) Values() []First { return []First{FirstProgram, FirstInteractor} }

func (Aggregation) Values() []Aggregation {
	return []Aggregation{AggregateSum, AggregateMin, AggregateMax, AggregateAverage, AggregateProduct, AggregatePassFail}
}

func (GroupPass) Values() []GroupPass { return []GroupPass{PassAll, PassAny, PassAlways} }

// RunModes are the modes a Run may ask for.
func RunModes() []Mode { return []Mode{Strict, Fresh, Exclusive} }

func (Mode) Values() []Mode { return append(RunModes(), InSession) }

func (ProfileMode) Values() []ProfileMode { return []ProfileMode{Enforce, Log} }

func (State) Values() []State { return []State{Queued, Running, Done} }

func (JobStatus) Values() []JobStatus { return []JobStatus{JobDone, JobRefused, JobError, JobCanceled} }

func (BatchState) Values() []BatchState {
	return []BatchState{BatchOpen, BatchRunning, BatchDone, BatchCanceled}
}

func (RejudgeState) Values() []RejudgeState {
	return []RejudgeState{RejudgeRunning, RejudgeReady, RejudgeApplied, RejudgeDiscarded}
}

func (LinkShow) Values() []LinkShow {
	return []LinkShow{LinkShowsFirstFailed, LinkShowsTests, LinkShowsScore, LinkShowsSource}
}

func (BatchKeep) Values() []BatchKeep { return []BatchKeep{KeepResult, KeepSummary} }

func (SessionState) Values() []SessionState { return []SessionState{SessionQuiet, SessionRunning} }

func (FileKind) Values() []FileKind {
	return []FileKind{RegularFile, Directory, Symlink, OtherFile}
}

func (ChangeKind) Values() []ChangeKind { return []ChangeKind{PathAdded, PathModified, PathRemoved} }

func (Severity) Values() []Severity {
	return []Severity{SeverityInfo, SeverityWarning, SeverityError, SeverityCritical}
}

func (Category) Values() []Category {
	return []Category{CategorySyntax, CategoryImport, CategoryType, CategoryValue, CategoryRuntime, CategoryMemory,
		CategoryTime, CategoryOutput, CategoryDenied, CategorySignal, CategoryCompile}
}

func (AlertKind) Values() []AlertKind {
	return []AlertKind{Segfault, OOMKill, DeniedCall, FailureRate, ImageDamage, KeysUnread}
}

func (ServiceStatus) Values() []ServiceStatus {
	return []ServiceStatus{ServiceOK, ServiceDegraded, ServiceStopping}
}

func (EventName) Values() []EventName {
	return []EventName{EventQueued, EventCompiled, EventStarted, EventStdout, EventStderr, EventUsage, EventTest, EventGap,
		EventResult, EventError, EventProgress, EventDone, EventOverview}
}

func (PackageKind) Values() []PackageKind {
	return []PackageKind{PythonPackages, NPMPackages, GemPackages}
}

func (Code) Values() []Code {
	return []Code{
		CodeBadRequest, CodeTooLarge, CodeBadLimits, CodeAboveCeiling, CodeBadFile, CodeNoLanguage, CodeNoImage, CodeBadImage,
		CodeNoBlob, CodeNoProfile, CodeBadProfile, CodeNoProblem, CodeBadProblem, CodeForbidden, CodeNotFound, CodeFileDenied,
		CodeFileConflict, CodeNoSpace, CodeBadVolume,
		CodeNoProgram, CodeBadProgram,
		CodeSessionEnded, CodeUnsupported, CodePackagesFailed, CodePackagesMissing, CodeCheckFailed, CodePoison, CodeCanceled,
		CodeBusy, CodeSessionBusy, CodeSessionsFull, CodeOverloaded, CodeHostMemory,
		CodeHostExhausted, CodeImageDamaged, CodeSetupTimeout, CodeStopping, CodeInternal,
		CodeAgentGone, CodeAgentUnreachable,
		CodeUnauthorized, CodeQueueFull, CodeKeyQueueFull, CodeTooManyConns, CodeTooManyBodies, CodeQueueTimeout,
		CodeCheckRefused, CodeConflict, CodeBatchClosed, CodeBatchesFull,
	}
}

func (ProcessStdin) Values() []ProcessStdin {
	return []ProcessStdin{ProcessStdinNone, ProcessStdinOpen}
}

func (ProcessState) Values() []ProcessState { return []ProcessState{ProcessRunning, ProcessEnded} }

func (ProcessStream) Values() []ProcessStream { return []ProcessStream{ProcessStdout, ProcessStderr} }

// Values are those of Signals.
func (Signal) Values() []Signal { return Signals() }

func (KernelLanguage) Values() []KernelLanguage { return slices.Clone(KernelLanguages) }

func (KernelState) Values() []KernelState {
	return []KernelState{KernelStarting, KernelIdle, KernelBusy, KernelDead}
}

func (CellStatus) Values() []CellStatus {
	return []CellStatus{CellOK, CellError, CellInterrupted, CellTimeout, CellDied}
}

func (CellEventType) Values() []CellEventType {
	return []CellEventType{CellEventStart, CellEventStdout, CellEventStderr, CellEventDisplay, CellEventResult, CellEventError,
		CellEventAsk, CellEventEnd, CellEventKeepAlive}
}

func (MachineState) Values() []MachineState {
	return []MachineState{MachineUp, MachineDraining, MachineGone}
}

func (AuditAction) Values() []AuditAction {
	return []AuditAction{AuditServiceStarted, AuditKeyAdded, AuditKeyRemoved, AuditKeyChanged, AuditProblemStored,
		AuditProblemRemoved, AuditBatchCanceled, AuditVolumeRemoved, AuditLabelEnded, AuditFailuresAcked, AuditMachineDrained,
		AuditLinkMade, AuditLinkRevoked}
}
