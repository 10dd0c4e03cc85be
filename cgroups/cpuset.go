package cgroups

// planCpuset sets the processors. On version 1 an empty cpuset is not allowed: it is the cell's.
func planCpuset(plan []Write, at Layout, old, new Limits) []Write {
	if at.Unified {
		return set(plan, "cpuset.cpus", old.Cpuset, new.Cpuset)
	}
	return set(plan, "cpuset.cpus", or(old.Cpuset, at.Cpus), or(new.Cpuset, at.Cpus))
}
