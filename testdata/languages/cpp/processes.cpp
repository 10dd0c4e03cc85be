#include <bits/stdc++.h>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

static volatile std::sig_atomic_t rang;

int main() {
	if (std::system("exit 3") != 3 << 8) return 1;
	std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen("echo piped", "r"), pclose);
	char text[16] = "";
	if (!pipe || !std::fgets(text, sizeof text, pipe.get()) || std::string(text) != "piped\n") return 1;
	const pid_t child = fork();
	if (child == 0) _exit(7);
	int status;
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return 1;
	std::signal(SIGALRM, [](int) { rang = 1; });
	ualarm(20000, 0);
	while (!rang) pause();
	std::puts("processes ok");
}
