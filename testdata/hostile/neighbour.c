#define ID "neighbour"
#include "probe.h"
// Leaves its own mark, the first argument, by every known means. For every line of its stdin it
// searches for the mark of the other, the second argument, and prints what it found.
#include <ftw.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/un.h>

static const char *other;
static void found(const char *what, int yes) { if (yes) printf("found %s of %s\n", what, other); }
static struct sockaddr_un named(const char *format, const char *mark, socklen_t *len) { struct sockaddr_un a = {AF_UNIX}; snprintf(a.sun_path, sizeof a.sun_path, format, mark); *len = sizeof a; if (*a.sun_path == '@') { *len = sizeof(sa_family_t) + strlen(a.sun_path); *a.sun_path = 0; } return a; }
static const char *sockets[] = {"@%s", "/tmp/%s.sock"}, *dirs[] = {"/tmp", "/dev/shm", "/box"};

static void leave(const char *mark) { char p[200]; socklen_t len; int key = 0x5100 + mark[strlen(mark) - 1];
	for (int i = 0; i < 3; i++) { snprintf(p, sizeof p, "%s/%s", dirs[i], mark); int f = open(p, O_CREAT | O_RDWR, 0666); write(f, mark, strlen(mark)); }
	for (int i = 0; i < 2; i++) { struct sockaddr_un a = named(sockets[i], mark, &len); int s = socket(AF_UNIX, SOCK_STREAM, 0); bind(s, (void *)&a, len); listen(s, 5); }
	int id = shmget(key, 4096, IPC_CREAT | 0666); char *m = shmat(id, 0, 0); if (m != (void *)-1) strcpy(m, mark);
	msgget(key, IPC_CREAT | 0666); semget(key, 1, IPC_CREAT | 0666);
	snprintf(p, sizeof p, "/%s", mark); mq_open(p, O_CREAT | O_RDWR, 0666, 0); sem_open(p, O_CREAT, 0666, 1);
	syscall(SYS_memfd_create, mark, 0L);
}
static int see(const char *path, const struct stat *st, int kind, struct FTW *f) { if (!strncmp(path, "/proc", 5)) return FTW_SKIP_SUBTREE; if (strstr(path, other)) printf("found path %s\n", path); return FTW_CONTINUE; }
static void look(void) { char p[300], b[4096]; socklen_t len; int key = 0x5100 + other[strlen(other) - 1], n, f; struct dirent *e;
	nftw("/", see, 20, FTW_PHYS | FTW_ACTIONRETVAL);
	for (int i = 0; i < 2; i++) { struct sockaddr_un a = named(sockets[i], other, &len); int s = socket(AF_UNIX, SOCK_STREAM, 0); found(i ? "path socket" : "abstract socket", s >= 0 && !connect(s, (void *)&a, len)); close(s); }
	int id = shmget(key, 4096, 0); found("shm", id >= 0); found("msg", msgget(key, 0) >= 0); found("sem", semget(key, 1, 0) >= 0);
	snprintf(p, sizeof p, "/%s", other); found("queue", mq_open(p, O_RDONLY) >= 0); found("named semaphore", sem_open(p, 0) != SEM_FAILED);
	f = open("/proc/net/unix", O_RDONLY); while (f >= 0 && (n = read(f, b, 4095)) > 0) { b[n] = 0; found("name in net/unix", !!memmem(b, n, other, strlen(other))); } close(f);
	DIR *d = opendir("/proc"); while ((e = readdir(d))) { if (atoi(e->d_name) <= 0) continue;
		snprintf(p, sizeof p, "/proc/%s/cmdline", e->d_name); f = open(p, O_RDONLY); n = f < 0 ? 0 : read(f, b, 4096); close(f);
		for (char *w = b; n > 0 && w < b + n; w += strlen(w) + 1) if (w == b + strlen(b) + 1 && !strcmp(w, other)) { found("process", 1); found("signal to it", !kill(atoi(e->d_name), 0)); } }
	closedir(d);
	int reach = 0; for (n = 2; n < 5000; n++) reach += n != getpid() && !kill(n, 0);
	if (reach) printf("found %d to signal\n", reach);
}
int main(int c, char **v) { char line[80]; other = v[2];
	leave(v[1]); puts("left"); fflush(stdout);
	while (fgets(line, 80, stdin)) { look(); puts("looked"); fflush(stdout); }
	return 0; }
