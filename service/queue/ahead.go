package queue

import "container/list"

// Ahead returns how many waiting requests get a slot before one that waits, if no others come and no key is at its limit.
// owner is that of the request, with its Request. It reports false if the request does not wait.
func (q *Queue) Ahead(owner Owner) (n int, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	l := q.lanes[owner.lane()]
	if l == nil || l.elem == nil || owner.Request == "" {
		return 0, false
	}
	p := l.projects[owner.Project]
	if p == nil {
		return 0, false
	}
	at, waits := p.place(owner.Request)
	if !waits {
		return 0, false
	}

	turn := before(&l.projectOrder, p.elem, at, func(e *list.Element) int { return e.Value.(*project).wait.Len() })
	n = before(q.order(l), l.elem, turn, func(e *list.Element) int { return e.Value.(*lane).waiting })
	if l.background {
		n += q.waiting
	}
	return n, true
}

// place is how many requests of the project are before one.
func (p *project) place(request string) (at int, waits bool) {
	for e := p.wait.Front(); e != nil; e = e.Next() {
		if e.Value.(*waiter).name == request {
			return at, true
		}
		at++
	}
	return 0, false
}

// before is how many are served before the request that has at others of its group before it. The groups of a list are
// served in rotation, from its front: of each, as many as rounds go by, and those at the front once more.
func before(groups *list.List, own *list.Element, at int, size func(*list.Element) int) (n int) {
	n = at
	first := true // the groups before own are served before it in its own round, too
	for e := groups.Front(); e != nil; e = e.Next() {
		switch {
		case e == own:
			first = false
		case first:
			n += min(size(e), at+1)
		default:
			n += min(size(e), at)
		}
	}
	return n
}
