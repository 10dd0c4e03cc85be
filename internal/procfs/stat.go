package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A Stat is what the kernel keeps of a process or thread in its file stat (proc_pid_stat(5)): the fields that brig or
// a test reads.
type Stat struct {
	Name        string // of the program, at most 15 bytes: the program can set it, to any bytes
	State       byte   // R: it runs or waits for a processor; D: it waits for a disk; S, I, T, t: it sleeps; Z, X: it has ended
	Parent      int
	Group       int    // the number of its process group
	Flags       uint64 // PF_ of include/linux/sched.h
	MinorFaults int64
	CPU         time.Duration // user and system, without its children, with a resolution of 10 ms
}

// ReadStat reads the file of a process, or of a thread: PID, PID/task/TID, or self.
func ReadStat(process string) (Stat, error) {
	var text [2048]byte // the kernel writes at most 52 numbers and a name
	n, err := readOnce("/proc/"+process+"/stat", text[:])
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text[:n])
}

// readOnce reads a short file of /proc with one call, which is whole then. os.ReadFile makes three times as many
// calls, and whoever looks at all processes of a host makes them for each.
func readOnce(path string, to []byte) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)

	n, err := unix.Read(fd, to)
	if err != nil {
		return 0, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return n, nil
}

// IsEnded reports whether an error of a file of /proc/PID says that the process, or the thread, has ended: ENOENT if
// its number was not found, ESRCH if it ended between the lookup of its directory and the check of the rights there
// (fs/proc/base.c, proc_pid_permission) or while the file was read. False for nil.
func IsEnded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// Processes reads the files of all processes of the host. One that ends meanwhile is left out.
func Processes() (map[int]Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()

	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}

	all := make(map[int]Stat, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, err := ReadStat(name); err == nil {
				all[pid] = s
			}
		}
	}
	return all, nil
}

// Descendants lists the processes of all that descend from one of them, the children before theirs.
func Descendants(all map[int]Stat, pid int) []int {
	children := map[int][]int{}
	for p, s := range all {
		children[s.Parent] = append(children[s.Parent], p)
	}

	found := []int{}
	for todo := children[pid]; len(todo) > 0; {
		found = append(found, todo[0])
		todo = append(todo[1:], children[todo[0]]...)
	}
	return found
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

	s.State, s.Parent, s.Group = f[0][0], int(number(1)), int(number(2))
	s.Flags, s.MinorFaults = uint64(number(6)), number(7)
	s.CPU = time.Duration(number(11)+number(12)) * (time.Second / 100) // USER_HZ is 100
	return s, err
}
