package judge0

import (
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A bound is a number that a submission may set.
type bound struct {
	standard, least, most float64
	above                 bool // it must be above least, which is not enough
}

// settings are the numbers of a submission.
type settings struct {
	runs, cpu, extra, wall, memory, stack, processes, file bound // seconds, and KB
}

// kilobyte is what the original calls KB.
const kilobyte = 1024

const batchSize = 20

// settingsOf returns the settings where runs have a ceiling. Times, memory and processes may be as much as that; what
// is in the answers, and the number of runs, as much as in the original.
func settingsOf(ceiling api.Limits) settings {
	seconds := func(d api.Duration) float64 { return float64(d) / float64(time.Second) }
	return settings{
		runs:      bound{1, 0, 20, true},
		cpu:       bounded(5, 0, seconds(ceiling.CPU), 15),
		extra:     bound{standard: 1, most: 5},
		wall:      bounded(20, 1, seconds(ceiling.Wall), 20), // four times the processor time: a busy host decides nothing
		memory:    bounded(128000, 2048, float64(ceiling.Memory/kilobyte), 512000),
		stack:     bounded(64000, 0, float64(ceiling.Stack/kilobyte), 128000),
		processes: bound{min(60, orElse(float64(ceiling.Pids), 60)), 0, orElse(float64(ceiling.Pids), 120), true},
		file: bounded(1024, 0,
			min(4096, orElse(float64(ceiling.Output/kilobyte), 4096), orElse(float64(ceiling.FileSize/kilobyte), 4096)), 4096),
	}
}

// bounded makes a bound. most of zero is no ceiling: then it is the original's.
func bounded(standard, least, most, original float64) bound {
	most = max(orElse(most, original), least)
	return bound{standard: min(standard, most), least: least, most: most}
}

func orElse(v, otherwise float64) float64 {
	if v > 0 {
		return v
	}
	return otherwise
}

// planConfig is GET /config_info. Clients make an object of all fields.
func planConfig(_ dialect.Request, on dialect.Agent) dialect.Plan {
	s := settingsOf(on.Ceiling)
	return dialect.Refuse(respond(200, ordered{
		{"maintenance_mode", false},
		{"enable_wait_result", true},
		{"enable_compiler_options", true},
		{"allowed_languages_for_compile_options", []string{}},
		{"enable_command_line_arguments", true},
		{"enable_submission_delete", false},
		{"enable_callbacks", false},
		{"callbacks_max_tries", 0},
		{"callbacks_timeout", decimal(0)},
		{"enable_additional_files", false},
		{"max_queue_size", dialect.MaxUnderWay},
		{"cpu_time_limit", decimal(s.cpu.standard)},
		{"max_cpu_time_limit", decimal(s.cpu.most)},
		{"cpu_extra_time", decimal(s.extra.standard)},
		{"max_cpu_extra_time", decimal(s.extra.most)},
		{"wall_time_limit", decimal(s.wall.standard)},
		{"max_wall_time_limit", decimal(s.wall.most)},
		{"memory_limit", int64(s.memory.standard)},
		{"max_memory_limit", int64(s.memory.most)},
		{"stack_limit", int64(s.stack.standard)},
		{"max_stack_limit", int64(s.stack.most)},
		{"max_processes_and_or_threads", int64(s.processes.standard)},
		{"max_max_processes_and_or_threads", int64(s.processes.most)},
		{"enable_per_process_and_thread_time_limit", false},
		{"allow_enable_per_process_and_thread_time_limit", false},
		{"enable_per_process_and_thread_memory_limit", false},
		{"allow_enable_per_process_and_thread_memory_limit", false},
		{"max_file_size", int64(s.file.standard)},
		{"max_max_file_size", int64(s.file.most)},
		{"number_of_runs", int64(s.runs.standard)},
		{"max_number_of_runs", int64(s.runs.most)},
		{"redirect_stderr_to_stdout", false},
		{"max_extract_size", 0},
		{"enable_batched_submissions", true},
		{"max_submission_batch_size", batchSize},
		{"submission_cache_duration", decimal(0)},
		{"use_docs_as_homepage", false},
		{"allow_enable_network", false},
		{"enable_network", false},
	}))
}

// A decimal is a number that has a fraction in JSON, be it 0.
type decimal float64

// MarshalJSON implements json.Marshaler.
func (d decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }
