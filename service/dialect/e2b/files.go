package e2b

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/e2b/wire"
)

const (
	programUID = 1000 // as programs see themselves

	// directorySize is what a directory has: clients expect more than nothing, and brig does not count it.
	directorySize = 4096
)

// text is a name as JSON can have it.
func text(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// entryOf describes a file, as its client calls it.
func entryOf(s api.PathStatus) *wire.Entry {
	e := &wire.Entry{Name: text(path.Base(s.Path)), Path: text(s.Path), Size: s.Size, Mode: s.Mode, Permissions: s.Permissions,
		Owner: text(s.Owner), Group: text(s.Group), Type: typeOf(s.Kind)}
	if s.UID == programUID {
		e.Owner = "user"
	}
	if s.GID == programUID {
		e.Group = "user"
	}
	if s.Kind == api.Directory {
		e.Size = directorySize
	}
	if t, err := time.Parse(time.RFC3339Nano, s.Modified); err == nil {
		e.ModifiedTime = timestamppb.New(t)
	}
	if s.Target != "" {
		target := s.Target
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(s.Path), target)
		}
		e.SymlinkTarget = proto.String(text(target))
	}
	return e
}

func typeOf(kind api.FileKind) wire.FileType {
	switch kind {
	case api.RegularFile:
		return wire.FileType_FILE_TYPE_FILE
	case api.Directory:
		return wire.FileType_FILE_TYPE_DIRECTORY
	case api.Symlink:
		return wire.FileType_FILE_TYPE_SYMLINK
	}
	return wire.FileType_FILE_TYPE_UNSPECIFIED
}

// onPath reads a request with a path.
func onPath(r dialect.Request, then func(name string) dialect.Plan) dialect.Plan {
	var m wire.PathRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	if bad := userOf(r); bad != "" {
		return refuseUnary("unauthenticated", bad)
	}
	return then(absolute(m.Path))
}

func planStat(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan { return stat(r, name) })
}

// stat describes what has a path. Of a link, clients expect the type of what it leads to.
func stat(r dialect.Request, name string) dialect.Plan {
	refused := refusedBy(failUnary)
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs", url.Values{"path": {name}})},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return dialect.Refuse(refused(reply.Problem))
			}
			var s api.PathStatus
			parse(reply.Body, &s)
			e := entryOf(s)
			if s.Kind != api.Symlink {
				return message(&wire.EntryResponse{Entry: e})
			}
			return dialect.Plan{
				Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs", url.Values{"path": {name}, "follow": {"true"}})},
				Then: func(reply dialect.Reply) dialect.Plan {
					if reply.Problem == nil { // otherwise it leads nowhere
						var to api.PathStatus
						parse(reply.Body, &to)
						e.Type = typeOf(to.Kind)
					}
					return message(&wire.EntryResponse{Entry: e})
				},
			}
		},
	}
}

func planMakeDir(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		return dialect.Plan{
			Call: &dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/fs/mkdir", url.Values{"path": {name}})},
			Then: func(reply dialect.Reply) dialect.Plan {
				var made api.PathMade
				parse(reply.Body, &made)
				switch {
				case reply.Problem != nil:
					return dialect.Refuse(refusedBy(failUnary)(reply.Problem))
				case !made.Made:
					return refuseUnary("already_exists", fmt.Sprintf("the directory %q exists already", text(name)))
				}
				return stat(r, name)
			},
		}
	})
}

func planMove(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.MoveRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	if bad := userOf(r); bad != "" {
		return refuseUnary("unauthenticated", bad)
	}
	from, to := absolute(m.Source), absolute(m.Destination)
	move := dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/fs/move", url.Values{"from": {from}, "to": {to}, "replace": {"true"}})}
	return dialect.Plan{ // the directory of the new name is made, if it is missing
		Call: &dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/fs/mkdir", url.Values{"path": {path.Dir(to)}})},
		Then: func(dialect.Reply) dialect.Plan {
			return dialect.Plan{Call: &move, Then: func(reply dialect.Reply) dialect.Plan {
				if reply.Problem != nil {
					return dialect.Refuse(refusedBy(failUnary)(reply.Problem))
				}
				return stat(r, to)
			}}
		},
	}
}

// planRemove removes what has a path, with all that is in it. Where nothing is, nothing is to do.
func planRemove(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		return dialect.Plan{
			Call: &dialect.Call{Method: "DELETE", Path: below(sandboxOf(r), "/fs", url.Values{"path": {name}, "recursive": {"true"}})},
			Then: func(reply dialect.Reply) dialect.Plan {
				if p := reply.Problem; p != nil && p.Code != api.CodeNotFound {
					return dialect.Refuse(refusedBy(failUnary)(p))
				}
				return message(&wire.Empty{})
			},
		}
	})
}

// maxLists bounds a list of a directory: so many pages of api.PathListMax.
const maxLists = 10

func planListDir(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.ListDirRequest
	if err := read(r.Body, &m); err != nil {
		return badMessage(err)
	}
	if bad := userOf(r); bad != "" {
		return refuseUnary("unauthenticated", bad)
	}
	q := url.Values{"path": {absolute(m.Path)}, "depth": {fmt.Sprint(min(max(m.Depth, 1), api.PathListDepth))},
		"limit": {fmt.Sprint(api.PathListMax)}}
	return listMore(r, q, &wire.ListDirResponse{}, maxLists)
}

func listMore(r dialect.Request, q url.Values, sofar *wire.ListDirResponse, pages int) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs/list", q)},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return dialect.Refuse(refusedBy(failUnary)(reply.Problem))
			}
			var l api.PathList
			parse(reply.Body, &l)
			for _, s := range l.Entries {
				sofar.Entries = append(sofar.Entries, entryOf(s))
			}
			switch {
			case l.Next == "":
				return message(sofar)
			case pages == 1:
				return refuseUnary("invalid_argument", fmt.Sprintf("there are more than %d names: list less deeply", maxLists*api.PathListMax))
			}
			q.Set("after", l.Next)
			return listMore(r, q, sofar, pages-1)
		},
	}
}

const noWatch = "brig reports no changes of files: list the directory again"

// planWatch is what a client gets that wants to be told of changes in a stream.
func planWatch(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var m wire.PathRequest
	if err := readFrame(r.Body, &m); err != nil {
		return refuseStream("invalid_argument", err.Error())
	}
	if bad := userOf(r); bad != "" {
		return refuseStream("unauthenticated", bad)
	}
	return refuseWatch(r, absolute(m.Path), refuseStream, refusedBy(failStream))
}

// planWatcher is what a client gets that wants to ask for changes.
func planWatcher(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan { return refuseWatch(r, name, refuseUnary, refusedBy(failUnary)) })
}

// refuseWatch says that no directory is watched. What is not there, or is no directory, is refused as that, so that a
// client that checks a path by it learns what is true.
func refuseWatch(r dialect.Request, name string, refuse func(code, message string) dialect.Plan,
	refused func(*api.Problem) dialect.Response) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs", url.Values{"path": {name}, "follow": {"true"}})},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return dialect.Refuse(refused(reply.Problem))
			}
			var s api.PathStatus
			parse(reply.Body, &s)
			if s.Kind != api.Directory {
				return refuse("invalid_argument", fmt.Sprintf("%q is no directory", text(name)))
			}
			return refuse("unimplemented", noWatch)
		},
	}
}
