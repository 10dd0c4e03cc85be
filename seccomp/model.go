package seccomp

import "fmt"

// A Call is what the kernel passes to a filter and to a notify listener (struct
// seccomp_data), without the instruction pointer, which no filter of ours reads.
type Call struct {
	Nr   int32
	Arch uint32 // AUDIT_ARCH token
	Args [6]uint64
}

// A Decision is the answer to one call and where it comes from.
type Decision struct {
	Answer
	Name string // of the call; "" when the tables do not know the number
	Rule int    // index in Profile.Rules, or FromDefault, or FromArch
	Why  string
}

// Origins of a decision that no rule made.
const (
	FromDefault = -1
	FromArch    = -2 // a foreign architecture or an x32 number
	FromNewer   = -3 // a number above the tables
	FromSetup   = -4 // cellinit's own code; in the last part all other code
)

// A Model answers calls as a profile specifies. Every compiled filter is compared
// with it, and the agent explains denied calls by it. It is immutable.
type Model struct {
	p       Profile
	setup   map[int32]bool  // the calls of Profile.Setup
	rules   map[int32][]int // call number -> rules that name it, in order
	rest    Decision
	foreign Decision
	newer   Decision
}

// NewModel makes a Model of p. It resolves the names once, for many decisions.
func NewModel(p Profile) *Model {
	arch := p.Arch.OrNative()
	m := &Model{
		p: p, rules: map[int32][]int{}, setup: map[int32]bool{},
		rest: Decision{Answer: p.Default, Rule: FromDefault,
			Why: fmt.Sprintf("profile %s names no rule that matches, and its default is %s", p.Name, p.Default)},
		foreign: Decision{Answer: Kill(), Rule: FromArch,
			Why: "not a call of " + string(arch) + ": another architecture has other numbers, which the rules do not cover"},
	}

	m.newer = Decision{Answer: Fail(ENOSYS), Rule: FromNewer, Why: newerWhy(arch)}
	if p.Log {
		m.newer.Answer = Kill()
	}
	if p.Default == Allow() {
		m.foreign.Answer, m.newer = Allow(), m.rest // the last part: the wide part answers these calls
	}

	nr := numbers(p.Arch)
	for _, name := range p.Setup {
		if n, ok := nr[name]; ok {
			m.setup[n] = true
		}
	}

	for i, r := range p.Rules {
		for _, name := range r.Names {
			if n, ok := nr[name]; ok {
				m.rules[n] = append(m.rules[n], i)
			}
		}
	}

	return m
}

// Decide answers one call. For many calls use a Model.
func Decide(p Profile, c Call) Decision { return NewModel(p).Decide(c) }

// Decide answers c in the order that Profile documents.
func (m *Model) Decide(c Call) Decision {
	arch := m.p.Arch.OrNative()
	native := c.Arch == arch.Audit()
	switch opened := m.setup[c.Nr] && inSetup(c); {
	case m.p.Default == Allow() && len(m.p.Setup) > 0 && !opened:
		return Decision{Answer: Allow(), Name: Name(c.Nr, arch), Rule: FromSetup, Why: "decided by the wide part"}
	case m.p.Default != Allow() && native && opened:
		return Decision{Answer: Allow(), Name: Name(c.Nr, arch), Rule: FromSetup, Why: "cellinit's own call"}
	}

	if c.Arch != arch.Audit() || arch == AMD64 && c.Nr != -1 && uint32(c.Nr) >= X32Bit {
		return m.foreign
	}
	if isNewer(c.Nr, arch) {
		return m.newer
	}

	name := Name(c.Nr, arch)
	answer, fallback := -1, -1
	for _, i := range m.rules[c.Nr] {
		r := m.p.Rules[i]
		switch {
		case len(r.Args) == 0:
			if fallback < 0 {
				fallback = i
			}
		case !matches(r.Args, c.Args):
		case r.Action == ActAllow:
			return m.byRule(i, name)
		case answer < 0:
			answer = i
		}
	}

	switch {
	case answer >= 0:
		return m.byRule(answer, name)
	case fallback >= 0:
		return m.byRule(fallback, name)
	}

	d := m.rest
	d.Name = name
	return d
}

func (m *Model) byRule(i int, name string) Decision {
	return Decision{Answer: m.p.Rules[i].Answer, Name: name, Rule: i, Why: m.p.Rules[i].Why}
}

// matches reports whether every condition holds.
func matches(conds []ArgCond, args [6]uint64) bool {
	for _, c := range conds {
		if c.Index >= uint(len(args)) || args[c.Index]&c.mask() != c.Value {
			return false
		}
	}
	return true
}

// groups returns the conditions of each conditional rule on call nr.
func (m *Model) groups(nr int32) [][]ArgCond {
	var out [][]ArgCond
	for _, i := range m.rules[nr] {
		if len(m.p.Rules[i].Args) > 0 {
			out = append(out, m.p.Rules[i].Args)
		}
	}
	return out
}
