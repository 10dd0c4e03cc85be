#define ID "FS-08"
#include "probe.h"
int main(int c, char **v) {
	if (c > 1) { TRY("script: open /proc/self/exe", open("/proc/self/exe", O_WRONLY)); return 0; }
	TRY("open /proc/self/exe", open("/proc/self/exe", O_WRONLY));
	TRY("open /proc/1/exe", open("/proc/1/exe", O_WRONLY));
	TRY("read /proc/1/exe", open("/proc/1/exe", O_RDONLY));
	TRY("open /proc/1/mem", open("/proc/1/mem", O_RDWR));
	int f = open("script", O_CREAT | O_WRONLY, 0755); write(f, "#!/proc/self/exe\n", 17); close(f);
	if (!fork()) { execl("./script", "script", NULL); report("exec script", -1); _exit(1); }
	wait(0);
	return 0;
}
