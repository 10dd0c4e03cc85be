// Two programs that say one line each in turns, in one source: without arguments the program under
// test, which repeats each line until 0; with the arguments of an interactor the other one, whose input
// has the number of lines; and with the arguments both N the two of them, over plain pipes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sys/wait.h>
#include <unistd.h>

static int answer()
{
	char line[64];
	while (fgets(line, sizeof line, stdin)) {
		fputs(line, stdout);
		fflush(stdout);
		if (atol(line) == 0)
			return 0;
	}
	return 1;
}

static int ask(long lines)
{
	char line[64];
	for (long i = lines - 1; i >= 0; i--) {
		printf("%ld\n", i);
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin) || atol(line) != i)
			return 43;
	}
	return 42;
}

static int both(long lines)
{
	int there[2], back[2];
	if (pipe(there) || pipe(back))
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(there[0], 0);
		dup2(back[1], 1);
		for (int fd : {there[0], there[1], back[0], back[1]})
			close(fd);
		execl("/proc/self/exe", "talk", (char *)nullptr);
		_exit(127);
	}
	dup2(back[0], 0);
	dup2(there[1], 1);
	for (int fd : {there[0], there[1], back[0], back[1]})
		close(fd);
	int status;
	return ask(lines) != 42 || waitpid(pid, &status, 0) != pid || status != 0;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return answer();
	if (!strcmp(argv[1], "both"))
		return both(atol(argv[2]));
	long lines;
	FILE *input = fopen(argv[1], "r");
	return input && fscanf(input, "%ld", &lines) == 1 ? ask(lines) : 1;
}
