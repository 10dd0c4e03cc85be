package seccomp

// pretended are the calls of a program of root that have no effect in a sandbox whose programs own their
// image: all files are the program's, and there is no other user.
var pretended = []Rule{
	plain(Pretend(), "the program owns every file that it can change, and there is no other owner: installers of "+
		"packages give files to users that have no other effect here", "chown fchown lchown fchownat"),
	plain(Pretend(), "there is no other user: installers and su continue as the one that they are",
		"setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups"),
}

// OwnImage returns p for programs that own their image (own_image): root of a user namespace without any
// capability. Under the built-in tiers except strict, calls that change owners and users, which these tiers
// refuse, report success and are not made: no program gets more by them than it had (OWN-02). An operator's
// own profile, and strict, keep their answers.
func OwnImage(p Profile, builtIn bool) Profile {
	if builtIn && p.Name != "strict" {
		p = Extend(p, nil, pretended)
	}
	p.OwnsImage = true
	return p
}

// OwnImageCalls are calls that cellinit's own code makes under the wide filter, next to ShellCalls, where
// programs own their image: to enter their user namespace, and to give up all capabilities there.
func OwnImageCalls() []string { return calls("setns prctl capset") }
