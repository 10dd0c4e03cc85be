// Messages between the agent and cellinit, and between the agent and a shell. Fixed size,
// little-endian, one per SOCK_SEQPACKET datagram, with descriptors attached. runtime/wire.go is the
// other side, and TestWireSizes compares them.
#ifndef BRIG_WIRE_H
#define BRIG_WIRE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef int s32;
typedef long s64;

enum { WIRE_MAGIC = 0x67697262 }; // "brig"

enum kind {
	KIND_HELLO = 1, // agent -> cellinit: the filters; fds: the clock page, memfd of the wide filter
	KIND_READY,     // cellinit -> agent: prepared; fd: the notify listener. session's shell -> agent: its mounts are made
	KIND_SPAWN,     // agent -> cellinit: make a shell; agent -> session's shell: make one for an exec; fds: see spawn_fd
	KIND_SPAWNED,   // either -> agent: made; fd: its pidfd
	KIND_START,     // agent -> shell: run this
	KIND_EXITED,    // shell -> agent: it ended
	KIND_FAILED,    // either -> agent: step and errno; nothing of the program ran
};

// The step of cellinit, a shell or the child that failed. runtime/wire.go names them.
enum step {
	STEP_NONE,
	STEP_DECODE,
	STEP_KEYRING,
	STEP_PRIVILEGE,
	STEP_FILTER,
	STEP_CLONE,
	STEP_SCRATCH,
	STEP_VOLUME,
	STEP_PROC,
	STEP_STDIO,
	STEP_RLIMIT,
	STEP_IDENTITY,
	STEP_CGROUP,
	STEP_DIRECTORY,
	STEP_LAST_FILTER,
	STEP_EXEC,
	STEP_NAMESPACE,
};

enum {
	MAX_LAST = 256,      // instructions of the last filter
	MAX_WIDE = 4096,     // of the wide filter: the kernel's BPF_MAXINSNS
	MAX_JOINS = 8,       // v1 hierarchies
	MAX_RLIMITS = 16,
	MAX_WORDS = 8192,    // argv and envp together
	MAX_STRINGS = 160 * 1024,
	CLOCK_WORDS = 512,   // of the clock page: one for each running exec
};

struct insn { u16 code; u8 jt, jf; u32 k; };

// The flags of a hello.
enum {
	HELLO_OWNS_IMAGE = 1, // programs are user 0 of a user namespace below the cell's, without a capability
};

struct hello {
	u32 magic, kind;
	u32 uid, gid;        // of the program, inside the cell
	u32 wide, last;      // instructions; 0 and 0: no filter at all
	u32 flags;
	struct insn insns[MAX_LAST];
};

// The flags of a spawn.
enum {
	SPAWN_FULL_PROC = 1,
	SPAWN_SESSION = 2,   // a shell that makes other shells, one for each exec; fds: up to the scratch
	SPAWN_EXEC = 4,      // one of those other shells: in the namespaces of the session
	SPAWN_NETWORK = 16,  // a network namespace of its own
	SPAWN_INSTALL = 32,  // the box has a directory packages, which is also mounted at /packages
	SPAWN_VOLUME = 8,    // the session has a volume; fds: FD_VOLUME follows the scratch
};

// The descriptors of a spawn, in this order. The joins follow.
enum spawn_fd { FD_SOCKET, FD_SCRATCH, FD_STDIN, FD_STDOUT, FD_STDERR, FD_CGROUP, FD_FIXED, FD_VOLUME = FD_STDIN };

struct spawn {
	u32 magic, kind;
	u32 flags;
	u32 joins;
	u32 has_cgroup;
	u32 clock;           // word of the clock page
};

struct limit { u32 resource, pad; u64 soft, hard; };

// The flags of a start.
enum {
	START_TEMPLATE = 1,  // the program is the file of the first descriptor, which stays open as TEMPLATE_FD
	START_LINKED = 2,    // the two descriptors that follow are stdin and stdout, instead of the shell's
	START_PAIRED = 4,    // the shell keeps stdout and stderr open: their reader finds no end before the agent does
	START_MERGED = 8,    // stderr is the shell's pipe of stdout; not with START_LINKED: an interactor would read it
	START_TTY = 16,      // the descriptor that follows is a terminal: stdin, stdout and stderr, and the program's own; alone
	START_CONTROL = 32,  // the two descriptors that follow become CONTROL_FD, which the program reads, and the next; alone
	MAX_NAMED = 14,      // pipes that the program opens by name: two for each of 7 processes
	MAX_START_FDS = MAX_NAMED + 2,
	TEMPLATE_FD = 3,     // where restore expects it (runtime/template/snapshot/snapshot.h)
	CONTROL_FD = 3,
	NAMED_FD = 64,       // the first named pipe; a program that counts its descriptors from 3 does not meet it
};

struct start {
	u32 magic, kind;
	u32 argc, envc;      // argc counts the directory, which precedes argv; empty: /box, where the shell is
	u32 rlimits;
	u32 strings;         // bytes of NUL-ended words that follow this struct
	u32 flags;
	u32 named;           // descriptors that follow, which the program has from NAMED_FD on
	struct limit limit[MAX_RLIMITS];
};

struct reply {
	u32 magic, kind;
	u32 step;
	s32 err;             // errno, positive
	s32 pid;             // of the shell, as the cell sees it
	s32 status;          // as wait4 gives it
	u64 exec_ns, exit_ns; // CLOCK_MONOTONIC
	u64 user_us, system_us;
	u64 maxrss_kib;
};

#endif
