// Package seccomp holds the system call policy of runs: profiles as data, each
// rule with its reason, and everything that can be decided about them without
// a kernel. Its subpackage bpf compiles profiles; load reads profile files.
//
// # Why a filter
//
// Of a hundred published kernel exploits, each needed a call or a namespace
// that no program under test needs. So a profile is an allow-list, small in each
// tier, and a denial has one of three answers: an error number on which libraries
// fall back (clone3, io_uring, sendfile), EPERM for calls that are merely not
// permitted, and kill for calls that no honest program makes (ptrace, bpf, keyctl).
//
// A call with a number above our tables has no name by which a profile could allow
// it. It gets ENOSYS under every profile, whatever the default, except in log mode:
// a libc tries new calls first and falls back on ENOSYS, and treats EPERM as a final
// refusal. Unassigned numbers below the newest get the default.
//
// # Two parts
//
// Loading a filter costs about 22 us and 0.6 us per instruction, and a run
// should cost one millisecond. So the long, wide part is loaded once per cell
// by cellinit and inherited by its shells and their runs. But shells still
// mount, clone3, set ids and execve below it (ShellCalls), which the wide part
// must therefore allow. The last part, some 35 instructions, takes exactly
// these calls back; the run loads it itself, just before execve. The kernel runs
// both parts and takes the stricter answer:
//
//	kill-process > kill-thread > trap > errno > notify > trace > log > allow
//
// Split makes the parts. A test runs both through Simulate and Combine over every
// call number and boundary argument and requires the profile's own answer.
//
// # Why kill is a notification
//
// A SIGSYS alone does not say which call it was, and any program can send one to
// itself. A kill answer is therefore compiled to a user notification: the
// call stops, the agent reads its number from the listener, records it for the
// verdict, and kills the run. errno is stricter than notify, so neither part
// may answer errno to a call of the kill set; and since the kernel allows one
// listener in a tree of filters, only the wide part notifies. Foreign
// architectures and x32 numbers are killed the same way. If the listener is
// gone the kernel answers ENOSYS: the call still does not happen.
//
// # Log mode
//
// LogMode turns every refusal into a notification, so that the agent can record
// the call and let it continue. It serves to learn what a program needs; never use
// it for untrusted programs. It includes ShellCalls, when the program makes them, and
// numbers above our tables.
package seccomp
