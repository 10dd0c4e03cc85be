package seccomp

// answers returns the explicit answers to calls that a tier does not allow, so that
// programs fall back as their libraries expect and a verdict can name the call.
func answers() []Rule {
	return []Rule{
		plain(Fail(ENOSYS), "its flags lie behind a pointer, which no filter can read; ENOSYS makes every libc fall "+
			"back to clone", "clone3"),
		plain(Fail(ENOSYS), "does its own system calls past this filter; runtimes fall back to epoll",
			"io_uring_setup io_uring_enter io_uring_register"),
		plain(Fail(ENOSYS), "stops the kernel in the middle of a copy, which exploits need", "userfaultfd"),
		plain(Fail(ENOSYS), "writes page cache that other sandboxes read (CVE-2026-31431, CVE-2026-43284); libraries "+
			"fall back to read and write", "splice tee vmsplice copy_file_range"),
		plain(Fail(EINVAL), "the same as for splice; Node copies files itself only after EINVAL, and every library "+
			"that falls back after ENOSYS also does so after EINVAL", "sendfile"),
		plain(Fail(ENOSYS), "locks and watches on shared files are channels between sandboxes",
			"flock inotify_init inotify_init1 inotify_add_watch inotify_rm_watch"),
		plain(Fail(ENOSYS), "handles of processes; libraries fall back to kill and wait4",
			"pidfd_open pidfd_send_signal process_mrelease"),
		plain(Fail(ENOSYS), "hides memory from the host", "memfd_secret"),
		plain(Fail(ENOSYS), "newer calls that libraries try first and can do without",
			"openat2 fchmodat2 execveat membarrier rseq eventfd close_range getdents epoll_pwait2 preadv2 pwritev2 "+
				"futex_waitv futex_wait futex_wake futex_requeue cachestat mseal map_shadow_stack rseq_slice_yield "+
				"set_mempolicy_home_node"),
		plain(Fail(ENOSYS), "reports on mounts, security modules and namespaces, or sets attributes of files",
			"statmount listmount listns lsm_get_self_attr lsm_set_self_attr lsm_list_modules open_tree_attr file_getattr file_setattr"),
		plain(Fail(ENOSYS), "removes rights only, yet its rule sets are kernel memory made by the program",
			"landlock_create_ruleset landlock_add_rule landlock_restrict_self"),
		plain(Fail(ENOSYS), "disk quotas are the host's", "quotactl quotactl_fd"),
		plain(Fail(ENOSYS), "entered by the kernel's own probes only", "uretprobe uprobe"),
		plain(Fail(EAFNOSUPPORT),
			"no network and no AF_ALG, RDS, VSOCK or netlink; the answer of a kernel without the family", "socket"),
		plain(Fail(EOPNOTSUPP),
			"extended attributes hold capabilities and labels; the one error that Python's shutil ignores",
			"setxattr lsetxattr fsetxattr setxattrat getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr "+
				"flistxattr listxattrat removexattr lremovexattr fremovexattr removexattrat"),
		plain(Fail(EPERM), "identities are fixed for the run",
			"setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset"),
		plain(Fail(EPERM), "owners of files are fixed for the run", "chown fchown lchown fchownat"),
		plain(Fail(EPERM), "the mount table is fixed before the program starts",
			"mount umount2 move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr chroot"),
		plain(Fail(EPERM), "namespaces are fixed before the program starts", "setns unshare"),
		plain(Fail(EPERM), "another filter could attach its own listener", "seccomp"),
		plain(Fail(ENOSYS), "the answer of a kernel without memory nodes, which .NET asks in each process and every "+
			"library takes for one node", "get_mempolicy"),
		plain(Fail(EPERM), "locked memory escapes reclaim", "mlock mlock2 mlockall"),
		plain(Fail(EPERM), "scheduling against its neighbours",
			"ioprio_set setpriority sched_setscheduler sched_setattr sched_setparam sched_setaffinity set_mempolicy mbind"),
		plain(Fail(EPERM), "settings of the host or of the cell",
			"sethostname setdomainname settimeofday clock_settime clock_adjtime adjtimex syslog vhangup sysfs ustat uselib"),
		plain(Fail(EPERM), "file handles reach past mounts", "name_to_handle_at"),
		plain(Kill(), "reads or changes another process",
			"ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise move_pages migrate_pages"),
		plain(Kill(), "loads programs into the kernel or counts its events; no program under test needs it",
			"bpf perf_event_open"),
		plain(Kill(), "keyrings are not namespaced by run: they outlive it and cross sandboxes",
			"keyctl add_key request_key"),
		plain(Kill(), "changes the kernel or the machine",
			"kexec_load kexec_file_load init_module finit_module delete_module create_module query_module "+
				"get_kernel_syms swapon swapoff reboot iopl ioperm acct"),
		plain(Kill(), "leaves the root it was given", "pivot_root open_by_handle_at"),
		plain(Kill(), "watches the whole mount", "fanotify_init"),
		plain(Kill(), "obsolete interfaces with a history of vulnerabilities", "lookup_dcookie modify_ldt"),
	}
}
