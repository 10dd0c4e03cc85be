/* Takes as much of one kind of kernel memory as it can, in several processes, prints
 * how much that was and what stopped it, and holds it until its stdin ends.
 *
 * hold KIND PROCESSES EACH */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/filter.h>

static char page[65536];
static int file, epolls[8], mate[2];
static void *wait_for_ever(void *p) { for (;;) pause(); return p; }
static int mine(int n) { char name[40]; snprintf(name, sizeof name, "/tmp/%d-%d", getpid(), n); return open(name, O_RDWR | O_CREAT, 0600); }

static int locks(int n) { /* one file per 500: the kernel looks through all locks of a file */
	struct flock l = {.l_type = F_WRLCK, .l_start = 2L * n, .l_len = 1};
	if (n % 500 == 0) file = mine(n);
	return file < 0 ? -1 : fcntl(file, F_SETLK, &l);
}
static int flocks(int n) { int f = open("/tmp/held", O_RDONLY | O_CREAT, 0600); (void)n; return f < 0 ? -1 : flock(f, LOCK_SH); }
static int epoll(int n) {
	static int at[100], got;
	if (n == 0) for (got = 0; got < 100; got++) at[got] = eventfd(0, 0);
	if (n % 100 == 0 && n / 100 < 8) epolls[n / 100] = epoll_create1(0);
	struct epoll_event v = {.events = EPOLLIN};
	if (n >= 800) { errno = EMFILE; return -1; }
	return epoll_ctl(epolls[n / 100], EPOLL_CTL_ADD, at[n % 100], &v);
}
static int fill(int f) { fcntl(f, F_SETFL, O_NONBLOCK); while (write(f, page, sizeof page) > 0) ; return errno == EAGAIN ? 0 : -1; }
static int pipes(int n) { int p[2]; (void)n; return pipe(p) ? -1 : fill(p[1]); }
static int sockets(int n) { int p[2], most = 1 << 30; (void)n; if (socketpair(AF_UNIX, SOCK_STREAM, 0, p)) return -1; setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof most); return fill(p[0]); }
static int small(int n) { /* one byte per message: mostly bookkeeping */
	if (n % 400 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, mate)) return -1;
	return send(mate[0], page, 1, MSG_DONTWAIT) == 1 || errno == EAGAIN ? 0 : -1;
}
static int rights(int n) {
	if (n % 50 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, mate)) return -1;
	char room[CMSG_SPACE(100 * sizeof(int))] = ""; struct iovec one = {page, 1};
	struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(100 * sizeof(int));
	int f = eventfd(0, 0);
	for (int i = 0; i < 100; i++) memcpy(CMSG_DATA(c) + i * sizeof f, &f, sizeof f);
	int r = sendmsg(mate[0], &m, MSG_DONTWAIT);
	close(f);
	return r < 0 ? -1 : 0;
}
static int timers(int n) { timer_t t; struct sigevent e = {.sigev_notify = SIGEV_NONE}; (void)n; return timer_create(CLOCK_MONOTONIC, &e, &t); }
static int signals(int n) { sigset_t all; sigfillset(&all); if (n == 0) sigprocmask(SIG_BLOCK, &all, 0); return sigqueue(getpid(), SIGRTMIN + n % 20, (union sigval){.sival_int = n}); }
static int files(int n) { (void)n; return open("/dev/null", O_RDONLY); }
static int inodes(int n) { int f = mine(n); return f < 0 ? -1 : close(f); }
static int symlinks(int n) { char to[128]; memset(to, 'x', 127), to[127] = 0; char name[40]; snprintf(name, sizeof name, "/tmp/l%d-%d", getpid(), n); return symlink(to, name); }
static int fifos(int n) { char name[40]; snprintf(name, sizeof name, "/tmp/q%d-%d", getpid(), n); if (mkfifo(name, 0600)) return -1; int f = open(name, O_RDWR); return f < 0 ? -1 : 0; }
static int names(int n) { char name[40]; struct stat s; snprintf(name, sizeof name, "/none-%d-%d", getpid(), n); return stat(name, &s) && errno != ENOENT ? -1 : 0; }
static int eventfds(int n) { (void)n; return eventfd(0, 0); }
static int timerfds(int n) { (void)n; int f = timerfd_create(CLOCK_MONOTONIC, 0); struct itimerspec t = {{0}, {9999, 0}}; return f < 0 ? -1 : timerfd_settime(f, 0, &t, 0); }
static int instances(int n) { (void)n; return epoll_create1(0); }
static int signalfds(int n) { sigset_t all; (void)n; sigfillset(&all); return signalfd(-1, &all, 0); }
static int memfds(int n) { (void)n; int f = memfd_create("m", 0); return f < 0 ? -1 : write(f, page, 4096) == 4096 ? 0 : -1; }
static int areas(int n) { return mmap(0, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0; }
static int tables(int n) { /* one page table per page: addresses far apart, only read, so all map the zero page */
	volatile char *m = mmap(0, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); (void)n;
	if (m == MAP_FAILED) return -1;
	madvise((void *)m, 2 << 20, MADV_NOHUGEPAGE);
	return m[0];
}
static int threads(int n) { static pthread_attr_t a; pthread_t t; if (n == 0) { pthread_attr_init(&a); pthread_attr_setstacksize(&a, 16384); } errno = pthread_create(&t, &a, wait_for_ever, 0); return errno ? -1 : 0; }
static int forks(int n) { pid_t p = fork(); (void)n; if (p == 0) wait_for_ever(0); return p < 0 ? -1 : 0; }
static int leaders(int n) { pid_t p = fork(); (void)n; if (p == 0) { setsid(); wait_for_ever(0); } return p < 0 ? -1 : 0; } /* one scheduler group each (autogroup) */
static int filters(int n) { int p[2]; struct sock_filter s[100]; struct sock_fprog f = {100, s}; (void)n; for (int i = 0; i < 100; i++) s[i] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, 1}; return socketpair(AF_UNIX, SOCK_STREAM, 0, p) ? -1 : setsockopt(p[0], SOL_SOCKET, SO_ATTACH_FILTER, &f, sizeof f); }
static int watches(int n) { static int f; char name[40]; if (n == 0) f = inotify_init1(0); snprintf(name, sizeof name, "/tmp/w%d", n); close(open(name, O_CREAT | O_RDWR, 0600)); return inotify_add_watch(f, name, IN_MODIFY) < 0 ? -1 : 0; }
static int queues(int n) { int q = msgget(IPC_PRIVATE, 0600); (void)n; return q < 0 ? -1 : msgsnd(q, page, 8000, IPC_NOWAIT); }
static int segments(int n) { (void)n; return shmget(IPC_PRIVATE, 4096, 0600) < 0 ? -1 : 0; }
static int posixqueues(int n) { char name[20]; snprintf(name, sizeof name, "q%d", n); return syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, 0) < 0 ? -1 : 0; }
static int keys(int n) { char name[20]; snprintf(name, sizeof name, "k%d", n); return syscall(SYS_add_key, "user", name, page, 4000, -3) < 0 ? -1 : 0; }
static int rings(int n) { (void)n; return syscall(SYS_io_uring_setup, 1, page) < 0 ? -1 : 0; }
static int areanames(int n) { char name[20]; snprintf(name, sizeof name, "n%d", n); void *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return prctl(0x53564d41, 0, m, 4096, name); }
static int hugepages(int n) { (void)n; return mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0; }
static int locked(int n) { (void)n; return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED ? -1 : 0; }

/* One connection of this process with itself, full in both directions. */
static int connections(int n) {
	static int l; static struct sockaddr_in at = {AF_INET}; socklen_t len = sizeof at; int c, s; (void)n;
	if (!l) { at.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if ((l = socket(AF_INET, SOCK_STREAM, 0)) < 0 || bind(l, (void *)&at, len) || listen(l, 128) || getsockname(l, (void *)&at, &len)) return -1; }
	if ((c = socket(AF_INET, SOCK_STREAM, 0)) < 0 || connect(c, (void *)&at, len) || (s = accept(l, 0, 0)) < 0) return -1;
	fcntl(c, F_SETFL, O_NONBLOCK); fcntl(s, F_SETFL, O_NONBLOCK);
	while (send(c, page, sizeof page, 0) > 0) ; while (send(s, page, sizeof page, 0) > 0) ;
	return 0;
}
/* Connections that nobody accepts. */
static int backlog(int n) {
	static int l; static struct sockaddr_in at = {AF_INET}; socklen_t len = sizeof at; int c; (void)n;
	if (!l) { at.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if ((l = socket(AF_INET, SOCK_STREAM, 0)) < 0 || bind(l, (void *)&at, len) || listen(l, 4096) || getsockname(l, (void *)&at, &len)) return -1; }
	if ((c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) < 0 || connect(c, (void *)&at, len) && errno != EINPROGRESS) return -1;
	return 0;
}
static int datagrams(int n) {
	struct sockaddr_in at = {AF_INET}; socklen_t len = sizeof at; int s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0); (void)n;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || bind(s, (void *)&at, len) || getsockname(s, (void *)&at, &len)) return -1;
	for (int i = 0; i < 150 && sendto(s, page, 1000, 0, (void *)&at, len) > 0; i++) ;
	return 0;
}

/* Answers of the kernel that nobody reads: each request for an acknowledgement carries 8,000 bytes, which the answer repeats. */
static int netlinks(int n) {
	struct nlmsghdr *m = (void *)page; int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE); (void)n;
	if (s < 0) return -1;
	*m = (struct nlmsghdr){.nlmsg_len = 8000, .nlmsg_type = 999, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
	for (int i = 0; i < 1000 && send(s, page, 8000, MSG_DONTWAIT) > 0; i++) ;
	return 0;
}

static struct kind { const char *name; int (*take)(int); } kinds[] = {
	{"record locks", locks}, {"whole-file locks", flocks}, {"epoll items", epoll}, {"full pipes", pipes}, {"full sockets", sockets}, {"small messages", small},
	{"descriptors in flight", rights}, {"timers", timers}, {"queued signals", signals}, {"open files", files}, {"files", inodes}, {"symbolic links", symlinks}, {"named pipes", fifos},
	{"missing names", names}, {"eventfds", eventfds}, {"timerfds", timerfds}, {"epoll instances", instances}, {"signalfds", signalfds}, {"memfds", memfds}, {"memory areas", areas}, {"page tables", tables},
	{"threads", threads}, {"processes", forks}, {"session leaders", leaders}, {"socket filters", filters}, {"inotify watches", watches}, {"System V queues", queues}, {"System V segments", segments},
	{"POSIX queues", posixqueues}, {"keys", keys}, {"io_uring", rings}, {"names of areas", areanames}, {"huge pages", hugepages}, {"locked memory", locked},
	{"full TCP connections", connections}, {"connections in the queue", backlog}, {"full UDP sockets", datagrams}, {"full netlink sockets", netlinks}};

int main(int argc, char **argv) {
	struct { long taken; int stopped; } *sum = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int processes = argc > 3 ? atoi(argv[2]) : 1, each = argc > 3 ? atoi(argv[3]) : 1, ready[2], made = 0;
	struct kind *k = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (argc > 1 && strcmp(kinds[i].name, argv[1]) == 0)
			k = &kinds[i];
	if (!k || processes > 1 && pipe(ready))
		return 2;
	for (; made < processes; made++) {
		pid_t p = processes == 1 ? 0 : fork();
		if (p < 0)
			break;
		if (p == 0) {
			int n = 0;
			while (n < each && k->take(n) >= 0)
				n++;
			if (n < each)
				sum->stopped = errno;
			__sync_fetch_and_add(&sum->taken, n);
			if (processes > 1) {
				write(ready[1], "x", 1);
				wait_for_ever(0);
			}
		}
	}
	for (int i = 0; i < made && processes > 1; i++)
		read(ready[0], page, 1);
	printf("%ld %s\n", sum->taken, sum->stopped ? strerrorname_np(sum->stopped) : "-");
	fflush(stdout);
	while (read(0, page, 1) > 0)
		;
	return 0;
}
