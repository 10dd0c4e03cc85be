// Package calibrate says how fast a machine is, from the processor times of fixed pieces of work. It runs
// nothing: a caller that has an agent executes them.
package calibrate

import (
	"bufio"
	_ "embed" // for the sources
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// Runs is how often each kernel is run unless the caller says so, and MaxRuns the most: the median counts.
const (
	Runs    = 5
	MaxRuns = 100
)

// The factors that make sense.
const (
	minFactor = 0.1
	maxFactor = 10
)

const maxFile = 1 << 20

//go:embed kernels/kernels.c
var cSource []byte

//go:embed kernels/kernels.py
var pythonSource []byte

// A Kernel is a fixed piece of work: a program in a language that gets its name as argument.
type Kernel struct {
	Name      string
	Class     string       // native, memory or interpreted
	Language  string       // c or python
	Reference api.Duration // processor time on the reference machine, in brig: a virtual machine on an AMD EPYC, 2026-11, with some other load
}

// Kernels are all of them. The names are those in the sources.
func Kernels() []Kernel {
	return []Kernel{
		{"integers", "native", "c", 206e6}, {"sorting", "native", "c", 224e6}, {"floats", "native", "c", 242e6},
		{"lookups", "memory", "c", 231e6}, {"streaming", "memory", "c", 286e6}, {"allocation", "memory", "c", 201e6},
		{"loop", "interpreted", "python", 167e6}, {"dictionary", "interpreted", "python", 210e6},
	}
}

// Source is the source of the kernels in a language, and its name.
func Source(language string) (text []byte, name string) {
	if language == "c" {
		return cSource, "kernels.c"
	}
	return pythonSource, "kernels.py"
}

// A Measurement is what a kernel took.
type Measurement struct {
	Name   string       `json:"name"`
	Class  string       `json:"class"`
	CPU    api.Duration `json:"cpu"`    // median processor time
	Spread float64      `json:"spread"` // of all runs, as a share of the median
	Factor float64      `json:"factor"` // CPU by that of the reference machine
}

// A Machine is what a Calibration is about.
type Machine struct {
	CPU    string `json:"cpu"`    // the processor's name
	Kernel string `json:"kernel"` // release of the operating system's kernel
}

// A Calibration says how fast a machine is.
type Calibration struct {
	Machine
	Measured time.Time          `json:"measured"` // UTC
	Images   map[string]string  `json:"images"`   // digests, by language
	Kernels  []Measurement      `json:"kernels"`
	Classes  map[string]float64 `json:"classes"` // geometric mean of the factors of each class
	Factor   float64            `json:"factor"`  // geometric mean of the classes: above 1, the machine is slower than the reference machine
}

// Judge makes a Calibration from the processor times of all runs, by the names of the kernels.
func Judge(m Machine, images map[string]string, runs map[string][]api.Duration, now time.Time) (Calibration, error) {
	c := Calibration{Machine: m, Images: images, Measured: now.UTC().Truncate(time.Second), Classes: map[string]float64{}}
	logs := map[string][]float64{}
	for _, k := range Kernels() {
		all := slices.Sorted(slices.Values(runs[k.Name]))
		if len(all) == 0 || all[0] <= 0 {
			return c, fmt.Errorf("kernel %s: there is no processor time of it", k.Name)
		}
		median := all[len(all)/2]
		one := Measurement{Name: k.Name, Class: k.Class, CPU: median,
			Spread: float64(all[len(all)-1]-all[0]) / float64(median), Factor: float64(median) / float64(k.Reference)}
		c.Kernels = append(c.Kernels, one)
		logs[k.Class] = append(logs[k.Class], math.Log(one.Factor))
	}

	all := 0.0
	for class, some := range logs {
		mean := 0.0
		for _, v := range some {
			mean += v / float64(len(some))
		}
		c.Classes[class] = math.Exp(mean)
		all += mean / float64(len(logs))
	}

	c.Factor = math.Exp(all)
	return c, c.check()
}

// Noisy are the names of the kernels whose times differ by more than 10 %.
func (c Calibration) Noisy() []string {
	var names []string
	for _, k := range c.Kernels {
		if k.Spread > 0.1 {
			names = append(names, k.Name)
		}
	}
	return names
}

func (c Calibration) check() error {
	if !(c.Factor >= minFactor && c.Factor <= maxFactor) {
		return fmt.Errorf("the factor %.3g is not between %v and %v: calibrate again while the machine has nothing "+
			"else to do", c.Factor, minFactor, maxFactor)
	}
	return nil
}

// Scale is a limit of time on a machine of this factor, to the microsecond. Zero, no limit, stays zero.
func Scale(limit api.Duration, factor float64) api.Duration {
	return api.Duration(math.Round(float64(limit)*factor/1e3) * 1e3)
}

// ErrNone says that the machine has not been calibrated.
var ErrNone = errors.New("this machine has not been calibrated: run brig calibrate")

// Load reads what Save has written, and refuses a calibration of another machine.
func Load(file string, here Machine) (Calibration, error) {
	var c Calibration
	text, err := inputfile.Read(file, maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return c, ErrNone
	} else if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s is damaged: run brig calibrate again: %w", file, err)
	}
	if c.Machine != here {
		return c, fmt.Errorf("the calibration is of another machine (%s, Linux %s), and this is %s, Linux %s: run "+
			"brig calibrate again", c.CPU, c.Kernel, here.CPU, here.Kernel)
	}
	return c, c.check()
}

// Save writes a calibration in place of an earlier one, whole or not at all.
func (c Calibration) Save(file string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Replace(file, append(text, '\n'), 0o600)
}

// Here is the machine that this process runs on.
func Here() (Machine, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Machine{}, os.NewSyscallError("uname", err)
	}

	m := Machine{CPU: runtime.GOARCH, Kernel: unix.ByteSliceToString(name.Release[:])}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	defer f.Close()

	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if key = strings.TrimSpace(key); key == "model name" || key == "CPU part" { // of amd64, and of arm64
			m.CPU = strings.TrimSpace(value)
			break
		}
	}

	return m, lines.Err()
}
