#define ID "CAP-04"
#include "probe.h"
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/acct.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/xattr.h>
// One call for each capability that has one, with arguments that do no harm where the call is
// allowed: confined to our own directory and namespaces, or invalid in a way that is found after
// the check. Without an argument the calls are those that root of a user namespace may make, with
// one argument those that only the host's root may make. No call shows NET_BROADCAST (unused),
// MAC_* (of a module), BLOCK_SUSPEND (ignored silently), AUDIT_WRITE and AUDIT_CONTROL (refused in
// our namespaces for every user).
static const char *other = "/bin/busybox"; // a file that is not ours
static long raise_limit(void) { struct rlimit none = {0, 0}, one = {1, 1}; setrlimit(RLIMIT_CORE, &none); return syscall(SYS_prlimit64, 0, RLIMIT_CORE, &one, 0); }
static long lock_memory(void) { struct rlimit l = {65536, 65536}; setrlimit(RLIMIT_MEMLOCK, &l); void *p = mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return syscall(SYS_mlock, p, 1 << 20); }
static long keep_bit(void) { struct stat st; int f = open("s", O_CREAT | O_WRONLY, 0600); if (fchmod(f, 04700) || write(f, "x", 1) != 1 || fstat(f, &st)) return -1; errno = EPERM; return st.st_mode & S_ISUID ? 0 : -1; }
static long append_only(int on) { int f = open("f", O_RDONLY), flags = on ? FS_APPEND_FL : 0; return ioctl(f, FS_IOC_SETFLAGS, &flags); }
static long bind_to(int domain, int type, int proto, void *addr, int len) { int s = socket(domain, type, proto); return s < 0 ? s : bind(s, addr, len); }
static long map_file(void) { char p[300]; struct dirent *e; DIR *d = opendir("/proc/self/map_files"); while (d && (e = readdir(d))) if (e->d_name[0] != '.') { snprintf(p, 300, "/proc/self/map_files/%s", e->d_name); return open(p, O_RDONLY); } return -1; }
int main(int c, char **v) {
	int f = open("f", O_CREAT | O_RDWR, 0600), block = 0; close(open("other", O_CREAT | O_RDWR, 0666)); if (!chown("other", 1, 1)) other = "other";
	if (c == 1) { struct sockaddr_in port = {AF_INET, htons(80)}; struct ifreq lo = {"lo"}; char b[1]; struct iovec v = {b, 1}, none = {0, 1};
		static const unsigned char v2[20] = {0, 0, 0, 2, 1};
		TRY("CHOWN", chown("f", 1, 1)); TRY("FOWNER", open(other, O_RDONLY | O_NOATIME)); TRY("SETFCAP", setxattr("f", "security.capability", v2, 20, 0));
		chmod("f", 0); TRY("DAC_OVERRIDE", open("f", O_RDWR)); mkdir("d", 0); TRY("DAC_READ_SEARCH", open("d", O_RDONLY | O_DIRECTORY));
		TRY("KILL", kill(1, 0)); TRY("SYS_PTRACE", process_vm_readv(1, &v, 1, &none, 1, 0)); TRY("SYS_CHROOT", chroot(".")); TRY("SYS_ADMIN", sethostname("x", 1)); TRY("SYS_BOOT", syscall(SYS_reboot, 0, 0, 0, 0));
		TRY("NET_BIND_SERVICE", bind_to(AF_INET, SOCK_STREAM, 0, &port, sizeof port)); TRY("NET_RAW", socket(AF_INET, SOCK_RAW, 1)); TRY("NET_ADMIN", ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &lo));
		int id = shmget(IPC_PRIVATE, 4096, 0); TRY("IPC_OWNER", shmat(id, 0, 0)); shmctl(id, IPC_RMID, 0);
		TRY("SETPCAP", prctl(PR_CAPBSET_DROP, 40)); TRY("SETGID", syscall(SYS_setgid, 1)); TRY("SETUID", syscall(SYS_setuid, 1)); return 0; }
	struct timex tick = {.modes = ADJ_TICK}; struct sockaddr_nl group = {AF_NETLINK, 0, 0, 1}; union bpf_attr map = {.map_type = BPF_MAP_TYPE_LRU_HASH, .key_size = 4, .value_size = 4, .max_entries = 1};
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
	TRY("FSETID", keep_bit()); TRY("LINUX_IMMUTABLE", append_only(1)); append_only(0); TRY("MKNOD", mknod("node", S_IFCHR | 0600, 0x103)); TRY("LEASE", fcntl(open(other, O_RDONLY), F_SETLEASE, F_RDLCK)); TRY("SYS_RAWIO", ioctl(f, FIBMAP, &block));
	TRY("SYS_MODULE", syscall(SYS_delete_module, "none", O_NONBLOCK)); TRY("SYS_PACCT", acct(0)); TRY("SYS_TTY_CONFIG", vhangup()); TRY("SYS_TIME", adjtimex(&tick)); TRY("WAKE_ALARM", timerfd_create(9, 0)); TRY("SYSLOG", syscall(SYS_syslog, 8, 0, 0));
	TRY("SYS_RESOURCE", raise_limit()); TRY("SYS_NICE", setpriority(PRIO_PROCESS, 0, -1)); TRY("IPC_LOCK", lock_memory()); TRY("CHECKPOINT_RESTORE", map_file());
	TRY("BPF", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map)); TRY("PERFMON", syscall(SYS_perf_event_open, &event, -1, 0, -1, 0)); TRY("AUDIT_READ", bind_to(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, &group, sizeof group)); return 0; }
