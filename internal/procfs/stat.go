package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A Stat is what the kernel keeps of a process or thread in its file stat (proc_pid_stat(5)): the fields that brig or
// a test reads.
type Stat struct {
	Name        string // of the program, at most 15 bytes: the program can set it, to any bytes
	State       byte   // R: it runs or waits for a processor; D: it waits for a disk; S, I, T, t: it sleeps; Z, X: it has ended
	Parent      int
	Flags       uint64 // PF_ of include/linux/sched.h
	MinorFaults int64
	CPU         time.Duration // user and system, without its children, with a resolution of 10 ms
}

// ReadStat reads the file of a process, or of a thread: PID, PID/task/TID, or self.
func ReadStat(process string) (Stat, error) {
	text, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text)
}

// CPUTime returns the processor time of a process.
func CPUTime(pid int) (time.Duration, error) {
	s, err := ReadStat(strconv.Itoa(pid))
	return s.CPU, err
}

// parseStat looks for the end of the name from behind: the name may have brackets and spaces.
func parseStat(text []byte) (s Stat, err error) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return s, fmt.Errorf("/proc/PID/stat has no name: %q", text)
	}

	s.Name = string(text[begin+1 : end])
	f := bytes.Fields(text[end+1:])
	if len(f) < 13 {
		return s, fmt.Errorf("/proc/PID/stat has too few fields: %q", text)
	}

	number := func(i int) int64 {
		n, nerr := strconv.ParseInt(string(f[i]), 10, 64)
		if nerr != nil {
			err = fmt.Errorf("/proc/PID/stat: %w", nerr)
		}
		return n
	}

	s.State, s.Parent, s.Flags, s.MinorFaults = f[0][0], int(number(1)), uint64(number(6)), number(7)
	s.CPU = time.Duration(number(11)+number(12)) * (time.Second / 100) // USER_HZ is 100
	return s, err
}
