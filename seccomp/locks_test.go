package seccomp

import "testing"

// MEM-40, MEM-41. No profile allows file locks without counting them, not even by an
// argument with garbage above bit 31, from which the kernel reads an int.
func TestLocksAreCountedInEveryProfile(t *testing.T) {
	allow := func(conds ...ArgCond) Profile {
		p := sound()
		p.Rules = append(p.Rules, when("fcntl dup flock", "x", conds...))
		return p
	}

	logged := allow()
	logged.Rules[len(logged.Rules)-1].Action = ActLog
	open := sound()
	open.Default = Answer{Action: ActLog}
	profiles := []Profile{sound(), allow(), allow(eq(1, 6)), allow(eq(1, 1<<32|6)), allow(masked(1, 0xff, 6)), allow(masked(1, 0xfffffff8, 0)),
		allow(eq(0, 3)), allow(eq(1, 3)), allow(eq(1, 8)), allow(eq(1, 37)), logged, open}
	answers := []Answer{Allow(), {Action: ActLog}, Count(), Kill(), Fail(ENOTTY), Fail(ENOSYS)}
	for _, name := range Tiers() {
		profiles = append(profiles, tier(t, name))
		for _, a := range answers { // for a tier with this default, and for one with this answer to these calls
			p := tier(t, name)
			p.Default = a
			q := Extend(tier(t, name), nil, []Rule{plain(a, "x", "fcntl flock open openat prlimit64 clone")})
			profiles = append(profiles, p, q)
		}
	}

	counted := 0
	for i, p := range profiles {
		p.Arch = AMD64
		q := CountLocks(p)
		before, after := NewModel(p), NewModel(q)
		for c := range BoundaryCalls(p, q) {
			was, is := before.Decide(c), after.Decide(c)
			lock := LockOf(is.Name, c.Args) != NoLock
			switch {
			case lock && is.Action.Open() && is.Action != ActCount:
				t.Fatalf("profile %d: %+v is let through and not counted", i, c)
			case is.Action == ActCount && was.Action.Open():
				counted++
			case is.Answer != was.Answer:
				t.Fatalf("profile %d: %+v had %s and has %s", i, c, was.Answer, is.Answer)
			}
		}

		wide, last := Split(q)
		for _, part := range []Profile{q, wide, last} {
			if _, err := Flatten(part); err != nil {
				t.Errorf("profile %d: %v", i, err)
			}
		}
	}

	if counted == 0 {
		t.Error("nothing was counted: the test is blind")
	}
}

// Whatever a profile says of calls that read a directory, those that run are counted, and nothing else
// changes.
func TestListingsAreCounted(t *testing.T) {
	for _, name := range Tiers() {
		for _, def := range []Answer{Kill(), Allow()} {
			p := tier(t, name)
			p.Arch, p.Default = AMD64, def
			q := CountListings(p)
			before, after := NewModel(p), NewModel(q)
			counted := 0
			for c := range BoundaryCalls(p, q) {
				was, is := before.Decide(c), after.Decide(c)
				switch listing := is.Name == "getdents64" || is.Name == "getdents"; {
				case listing && was.Action.Open() && is.Action == ActCount:
					counted++
				case listing && was.Action.Open(), is.Answer != was.Answer:
					t.Fatalf("%s: %+v had %s and has %s", name, c, was.Answer, is.Answer)
				}
			}

			if counted == 0 && name != "strict" {
				t.Errorf("%s: nothing was counted: the test is blind", name)
			}
			if _, err := Flatten(q); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
