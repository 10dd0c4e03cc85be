// What the kernel and the C library note of a process at its start, beyond what restore sets.
#ifndef BRIG_START_H
#define BRIG_START_H

#include "snapshot.h"

// Of a function that a program of the image, or its C library, finds in place of its own.
#define EXPORTED __attribute__((visibility("default")))

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

// What a program's first code gives to the C library, and the C library's function that takes it.
struct program {
	start_function *start;
	main_function *main;
	void (*init)(void), (*fini)(void), (*rtld_fini)(void);
};

// start_write writes this process, which the dynamic loader has started, to the file path. It returns
// 0, or says what is missing. argv is that of this process. returns, threads: see snapshot.h.
const char *start_write(const char *path, char **argv, void (*resume)(int argc, char **argv, char **envp), int returns, int threads);

// start_executable has the runs answer with the program of this process, and not with the template, when
// they ask what they execute: perl for $^X, node for its workers, java for ProcessHandle.
void start_executable(void);

// start_threads makes the threads and descriptors of the old process, before start_again.
void start_threads(void);

// start_again is the first that resume calls. It gives the process its name, and the C library the
// arguments and the random bytes of this run and the upper end of its stack.
void start_again(char **argv, char **envp, void *stack_end);

// start_stack_end tells the C library the upper end of the first thread's stack.
void start_stack_end(void *stack_end);

#endif
