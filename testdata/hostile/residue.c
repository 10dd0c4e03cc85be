#define ID "residue"
#include "probe.h"
// Leaves everything it can, marked RESIDUE: files, startup hooks, caches, packages, ipc, sockets,
// processes in every state, locks. With an argument it also leaves keys, whose calls end a run
// under the filter: "sealed" in the rings that a cell seals, otherwise in all rings.
#include <arpa/inet.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/un.h>

static int leave(const char *path, const char *text, int mode) {
	char dir[400];
	for (const char *s = path + 1; (s = strchr(s, '/')); s++) { snprintf(dir, sizeof dir, "%.*s", (int)(s - path), path); mkdir(dir, 0777); }
	int f = open(path, O_CREAT | O_RDWR, mode);
	if (f >= 0) write(f, text, strlen(text));
	return f;
}
static void files(void) {
	const char *places[] = {"/box", "/tmp", "/dev/shm", "/run", "/var/tmp", "/dev/mqueue", "/usr/lib", ""}, *names[] = {"RESIDUE", ".RESIDUE", "deep/er/and/.deeper/RESIDUE", "RESIDUE\n\033[2J\xff\"", "-RESIDUE *", "...RESIDUE"};
	char p[400];
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 6; k++) { snprintf(p, sizeof p, "%s/%s", places[i], names[k]); int f = leave(p, "RESIDUE", 0666); if (i < 3 && !k) { TRY("file", f); flock(f, LOCK_EX); } else close(f); }
		snprintf(p, sizeof p, "%s/RESIDUE-link", places[i]); symlink("RESIDUE", p);
		snprintf(p, sizeof p, "%s/RESIDUE-fifo", places[i]); mkfifo(p, 0666);
		snprintf(p, sizeof p, "%s/RESIDUE-open", places[i]); leave(p, "RESIDUE", 0600); unlink(p); // a daemon holds it open
	}
}
static void hooks(const char *home) {
	const char *name[] = {".profile", ".bashrc", ".shrc", ".pythonrc.py", "sitecustomize.py", "usercustomize.py", "__pycache__/json.cpython-313.pyc", ".npmrc", ".gdbinit", "Makefile", "pom.xml", ".git/config",
		".cache/ccache/RESIDUE", ".cache/go-build/RESIDUE", ".cache/pip/RESIDUE", ".gradle/RESIDUE", ".m2/RESIDUE", ".npm/RESIDUE", ".local/lib/python3.13/site-packages/RESIDUE.py", "node_modules/RESIDUE/index.js"}, *in[] = {home, "/box", "/tmp"};
	char p[400];
	for (int i = 0; i < 60; i++) { snprintf(p, sizeof p, "%s/%s", in[i % 3], name[i / 3]); close(leave(p, "echo RESIDUE hook\n", 0777)); }
	close(leave("/bin/RESIDUE-tool", "echo RESIDUE hook\n", 0777));
}
static void ipc(void) {
	TRY("shmget", shmget(0x42, 4096, IPC_CREAT | 0666)); TRY("msgget", msgget(0x42, IPC_CREAT | 0666)); TRY("semget", semget(0x42, 1, IPC_CREAT | 0666));
	TRY("mq_open", mq_open("/RESIDUE", O_CREAT | O_RDWR, 0666, 0)); TRY("sem_open", sem_open("/RESIDUE", O_CREAT, 0666, 1) == SEM_FAILED ? -1 : 0);
	TRY("sethostname", sethostname("RESIDUE", 7));
}
static void *serve(void *l) { for (int s; (s = accept((int)(long)l, 0, 0)) >= 0; close(s)) write(s, "RESIDUE", 7); return 0; }
static void sockets(void) { // served by threads of the caller
	struct sockaddr_un name = {AF_UNIX, "\0RESIDUE"}, path = {AF_UNIX, "/tmp/RESIDUE.sock"};
	struct sockaddr_in port = {AF_INET, htons(4242)};
	struct { int family; void *to; socklen_t len; } s[] = {{AF_UNIX, &name, sizeof(sa_family_t) + 8}, {AF_UNIX, &path, sizeof path}, {AF_INET, &port, sizeof port}};
	pthread_t t;
	for (int i = 0; i < 3; i++) { int l = TRY("socket", socket(s[i].family, SOCK_STREAM, 0)); if (!bind(l, s[i].to, s[i].len) && !listen(l, 5)) pthread_create(&t, 0, serve, (void *)(long)l); }
}
static void *idle(void *x) { for (;;) pause(); }
// processes leaves plain daemons, one stopped, one with a zombie, one whose first thread has ended,
// and one that serves; it returns when all are in their final state.
static void processes(void) {
	int ready[2]; char c; pthread_t t;
	pipe(ready);
	for (int i = 0; i < 10; i++) if (!fork()) {
		setsid(); close(ready[0]);
		for (int s = 1; s < 32; s++) if (s != SIGCHLD) signal(s, SIG_IGN);
		if (i == 1) { if (!fork()) _exit(0); siginfo_t si; waitid(P_ALL, 0, &si, WEXITED | WNOWAIT); }
		if (i == 2) for (int k = 0; k < 3; k++) pthread_create(&t, 0, idle, 0);
		if (i == 3) sockets();
		write(ready[1], "", 1); close(ready[1]);
		if (i == 2) pthread_exit(0);
		if (i == 0) raise(SIGSTOP);
		idle(0);
	}
	close(ready[1]);
	while (read(ready[0], &c, 1) > 0);
	for (int s, k = 0; k < 1000 && !waitpid(-1, &s, WUNTRACED | WNOHANG); k++) usleep(1000); // the stopped one
}
static void keys(int rings) {
	long to[] = {-3, -4, -5, syscall(SYS_keyctl, 22L, -1L, -2L)}; // session, user, user session, persistent
	const char *n[] = {"add_key session", "add_key user", "add_key user session", "add_key persistent"};
	for (int i = 0; i < rings; i++) if (i || getuid()) TRY(n[i], syscall(SYS_add_key, "user", "RESIDUE", "RESIDUE", 7L, to[i]));
}
int main(int argc, char **argv) {
	char *home = getenv("HOME"); int sv[2];
	umask(0);
	files(); hooks(home ? home : "/box"); ipc();
	TRY("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	if (argc > 1) keys(strcmp(argv[1], "sealed") ? 4 : 3);
	processes();
	return 0;
}
