package gojudge

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	workDir     = "/w" // where commands of the original run; in brig that is /box
	maxCommands = 64   // of one request
	devNull     = "/dev/null"
	optional    = "?" // ends the name of a file that may be missing
)

// A job is one command of a request, as brig executes and tells it.
type job struct {
	run   api.Run
	needs []dialect.Need
	typed api.Bytes // at its terminal

	asked          limits
	stdout, stderr *collector // nil: nobody collects it
	out            []output

	max      uint64 // bytes of each file that is copied out; zero: only brig bounds them
	truncate bool   // a larger file is told in part

	hostFiles bool // files of the service's host may be named

	at   int // the index of its run
	role role
}

// A role is what the command of a job is in its run.
type role int

const (
	alone  role = iota
	first       // it talks with the interactor of its run
	second      // it is the interactor of the run
)

// needsOf are the files that a job needs in the run of that index.
func (j *job) needsOf(run int) (all []dialect.Need) {
	for _, n := range j.needs {
		n.Run, n.Interactor = run, j.role == second
		all = append(all, n)
	}
	return all
}

// A collector is what is told of a stream.
type collector struct {
	name   string
	max    int64
	cached bool // it is kept, and its id is told
}

// An output is a file that is copied out.
type output struct {
	name     string // as the client calls it
	path     string // in /box
	optional bool
	cached   bool
}

// planRun is POST /run.
func planRun(ask dialect.Request, on dialect.Agent) dialect.Plan {
	q, ignored, bad := read(ask.Body)
	switch {
	case bad != "":
	case len(q.Cmd) == 0:
		bad = "no cmd provided"
	case len(q.Cmd) > maxCommands:
		bad = fmt.Sprintf("the request has %d cmd: the maximum is %d", len(q.Cmd), maxCommands)
	}

	p := dialect.Plan{UnknownFields: ignored, Feeds: map[int]int{}, Typed: map[int]api.Bytes{}}
	jobs := make([]job, len(q.Cmd))
	var pipes connections
	if bad == "" {
		pipes, bad = connect(q.Cmd, q.PipeMapping)
	}
	if bad == "" {
		bad = pipes.atTerminals(q.Cmd)
	}
	for i := 0; i < len(q.Cmd) && bad == ""; i++ {
		if jobs[i], bad = jobOf(q.Cmd[i], on); bad != "" {
			bad = fmt.Sprintf("cmd[%d]: %s", i, bad)
		}
	}

	var order []int
	if bad == "" {
		order, bad = pipes.order(len(q.Cmd))
	}
	for at, i := range order {
		one := &jobs[i]
		one.at = at
		if writer, reads := pipes.writer[i]; reads {
			p.Feeds[at] = jobs[writer].at
		}
		run := one.run
		if run.TTY != nil {
			p.Typed[at] = one.typed
		}
		if partner, talks := pipes.partner[i]; talks {
			other := &jobs[partner]
			other.at, one.role, other.role = at, first, second
			run = together(one, other)
			p.Needs = append(p.Needs, other.needsOf(at)...)
		}
		p.Runs = append(p.Runs, run)
		p.Needs = append(p.Needs, one.needsOf(at)...)
	}
	if bad != "" {
		refused := refuse(bad)
		refused.UnknownFields = ignored
		return refused
	}

	p.Missing = respond(500, noFile+idsOf(p.Needs))
	p.Tell = func(results []api.Result) dialect.Response { return tell(jobs, results, ask.Nonce) }
	return p
}

// idsOf are ids for an error. It does not know which of them is the one.
func idsOf(needs []dialect.Need) string {
	var ids []string
	for _, n := range needs {
		if n.Path == "" {
			ids = append(ids, fmt.Sprintf("%.64q", n.ID))
		}
	}
	if len(ids) > 8 {
		ids = append(ids[:8], "...")
	}
	return strings.Join(ids, " or ")
}

// jobOf makes the run of a command.
func jobOf(c command, on dialect.Agent) (j job, bad string) {
	switch {
	case len(c.Args) == 0 || c.Args[0] == "":
		return j, "args[0] is missing: it must name the program"
	}

	j = job{max: c.CopyOutMax, truncate: c.CopyOutTruncate, hostFiles: on.HostFiles}
	j.run = api.Run{Image: Image, Argv: slices.Clone(c.Args), Env: map[string]string{}}
	j.run.Argv[0] = inBrig(c.Args[0])

	for i, one := range c.Env {
		name, value, is := strings.Cut(one, "=")
		if !is || name == "" {
			return j, fmt.Sprintf("env[%d] is %.80q: write NAME=VALUE", i, one)
		}
		j.run.Env[name] = value
	}

	if bad := j.setStreams(c.Files); bad != "" {
		return j, bad
	}
	if bad := j.setTerminal(c.TTY); bad != "" {
		return j, bad
	}
	if bad := j.setCopyIn(c.CopyIn); bad != "" {
		return j, bad
	}
	if bad := j.setCopyOut(c); bad != "" {
		return j, bad
	}

	j.asked = limitsOf(c)
	j.run.Limits = j.asked.granted(j.mostOutput(), on.Ceiling)
	return j, ""
}

// setStreams sets what stdin is, and what becomes of stdout and stderr.
func (j *job) setStreams(files []*file) (bad string) {
	for fd, f := range files {
		if f == nil {
			continue
		}

		kind := f.kind()
		switch {
		case kind == ofNothing:
			return fmt.Sprintf("files[%d] is of no type that brig has: write src, content, fileId, or name with max", fd)
		case kind == ofHost && *f.Src == devNull: // nothing is read, and nothing is collected
		case fd > 2:
			return fmt.Sprintf("files[%d] is not supported: brig's programs have the descriptors 0, 1 and 2", fd)
		case (fd == 0) != (kind != ofCollector):
			return fmt.Sprintf("files[%d] is not supported: the descriptor 0 is read, and 1 and 2 are collected", fd)
		case kind == ofHost && !j.hostFiles:
			return fmt.Sprintf("files[%d]: %s", fd, hostPath(*f.Src))
		case kind == ofHost:
			j.needs = append(j.needs, dialect.Need{Path: *f.Src, Stdin: true})
		case kind == ofContent:
			j.run.Stdin = api.Bytes(*f.Content)
		case kind == ofKept:
			j.needs = append(j.needs, dialect.Need{ID: *f.FileID, Stdin: true})
		case *f.Name == "" || *f.Max < 0:
			return fmt.Sprintf("files[%d] has the name %.80q and the max %d: a collector needs a name, and a max of 0 or more",
				fd, *f.Name, *f.Max)
		case fd == 1:
			j.stdout = &collector{name: *f.Name, max: *f.Max}
		default:
			j.stderr = &collector{name: *f.Name, max: *f.Max}
		}
	}

	// Two collectors of one name are one file, which both descriptors write to.
	if j.stdout != nil && j.stderr != nil && j.stdout.name == j.stderr.name {
		j.stdout.max = max(j.stdout.max, j.stderr.max)
		j.stderr, j.run.MergeStderr = nil, true
	}
	return ""
}

// setTerminal makes stdin, stdout and stderr one terminal. As in the original its first collector gets what it shows, and
// the other one nothing.
func (j *job) setTerminal(has bool) (bad string) {
	if !has {
		return ""
	}
	if len(j.needs) > 0 {
		return "files[0] of a cmd with tty must be content, or src " + devNull + ": it is typed at the terminal"
	}

	j.run.TTY, j.typed = &api.TTY{}, j.run.Stdin
	j.run.Stdin, j.run.MergeStderr = nil, false
	if j.stdout == nil {
		j.stdout = j.stderr
	}
	j.stderr = nil
	return ""
}

// A kind is where the content of a file comes from, or goes to.
type kind int

const (
	ofNothing kind = iota
	ofHost
	ofContent
	ofKept
	ofCollector
)

func (f *file) kind() kind {
	switch {
	case f.StreamIn || f.StreamOut: // of /stream
		return ofNothing
	case f.Src != nil:
		return ofHost
	case f.Content != nil:
		return ofContent
	case f.FileID != nil:
		return ofKept
	case f.Name != nil && f.Max != nil:
		return ofCollector
	}
	return ofNothing
}

func hostPath(src string) string {
	return fmt.Sprintf("src %.200q is not supported: this service reads no files of its host for a client; send the content, "+
		"upload it and name its fileId, or have the operator name their folder (brig serve --go-judge-src DIR)", src)
}

// setCopyIn sets the files that the program finds. All can be executed, as in the original.
func (j *job) setCopyIn(files map[string]file) (bad string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		placed, bad := placeOf(name)
		switch kind := f.kind(); {
		case bad != "":
			return "copyIn: " + bad
		case f.Symlink != nil && *f.Symlink == "":
			return fmt.Sprintf("copyIn %.200q: symlink is empty: it must name what the link leads to", name)
		case f.Symlink != nil:
			j.run.Files = append(j.run.Files, api.File{Name: placed, Link: inBrig(*f.Symlink)})
		case kind == ofHost && *f.Src == devNull:
			j.run.Files = append(j.run.Files, api.File{Name: placed, Executable: true})
		case kind == ofHost && !j.hostFiles:
			return fmt.Sprintf("copyIn %.200q: %s", name, hostPath(*f.Src))
		case kind == ofHost:
			j.needs = append(j.needs, dialect.Need{Path: *f.Src, Name: placed, Executable: true})
		case kind == ofContent:
			j.run.Files = append(j.run.Files, api.File{Name: placed, Content: api.Bytes(*f.Content), Executable: true})
		case kind == ofKept:
			j.needs = append(j.needs, dialect.Need{ID: *f.FileID, Name: placed, Executable: true})
		default:
			return fmt.Sprintf("copyIn %.200q is of no type that brig has: write content or fileId", name)
		}
	}
	return ""
}

// inBrig is a path of the original's sandbox in brig's.
func inBrig(p string) string {
	if inside, is := strings.CutPrefix(p, workDir+"/"); is {
		return "/box/" + inside
	}
	return p
}

// placeOf is the name of a file of api.Run: below the directory in which the program starts, or in /tmp.
func placeOf(name string) (placed, bad string) {
	inTmp, is := strings.CutPrefix(path.Clean(name), api.TmpDir)
	if !is || strings.HasSuffix(name, "/") {
		return pathOf(name)
	}
	if err := api.FileName(inTmp); err != nil {
		return "", err.Error()
	}
	return api.TmpDir + inTmp, ""
}

// pathOf is the path in /box of a name, which is relative to the directory in which the program starts, or absolute.
func pathOf(name string) (inBox, bad string) {
	full := name
	if !path.IsAbs(full) {
		full = workDir + "/" + name
	}
	inBox, is := strings.CutPrefix(path.Clean(full), workDir+"/")
	if !is || strings.HasSuffix(name, "/") {
		return "", fmt.Sprintf("the name %.200q is not supported: brig has only files below the directory in which the "+
			"program starts, with names such as data/in.txt, and those of copyIn in /tmp", name)
	}
	if err := api.FileName(inBox); err != nil {
		return "", err.Error()
	}
	return inBox, ""
}

// The most that the files of one command may have that are copied out, for which its result has room.
const (
	mostFiles = 256
	mostBytes = 64 * api.MiB
)

// setCopyOut sets which files are copied out. A stream that is collected may be among them: then it is kept.
func (j *job) setCopyOut(c command) (bad string) {
	var globs []string
	for i, name := range append(slices.Clone(c.CopyOut), c.CopyOutCached...) {
		name, mayMiss := strings.CutSuffix(name, optional)
		cached := i >= len(c.CopyOut)
		if s := j.collectorOf(name); s != nil {
			s.cached = s.cached || cached
			continue
		}

		inBox, bad := pathOf(name)
		if bad != "" {
			return "copyOut: " + bad
		}
		j.out = append(j.out, output{name: name, path: inBox, optional: mayMiss, cached: cached})
		globs = append(globs, globOf(inBox))
	}
	if len(j.out) > mostFiles {
		return fmt.Sprintf("copyOut and copyOutCached have %d files: the maximum is %d", len(j.out), mostFiles)
	}

	slices.Sort(globs)
	j.run.Collect = api.Collect{Globs: slices.Compact(globs), Bytes: mostBytes, Files: api.CollectFilesMax}
	if len(globs) == 0 {
		j.run.Collect = api.Collect{None: true}
		return ""
	}

	// Of what is only kept, nobody needs the content, unless a part of it is kept.
	told := slices.ContainsFunc(j.out, func(o output) bool { return !o.cached })
	j.run.Collect.Blobs = !told && !j.truncate
	return ""
}

func (j *job) collectorOf(name string) *collector {
	for _, s := range []*collector{j.stdout, j.stderr} {
		if s != nil && s.name == name {
			return s
		}
	}
	return nil
}

// globOf is a pattern that matches a name. Characters with which patterns say more match any character: what else it
// matches is not told.
func globOf(name string) string {
	return strings.NewReplacer("*", "?", "[", "?", "]", "?", `\`, "?").Replace(name)
}
