// Checks that a message must pass before anything is done with it. No system call is made here;
// runtime/decode_test.go compiles this file alone and fuzzes it.
#include "decode.h"

int hello_valid(const struct hello *h, s64 len, int fds)
{
	return len == (s64)sizeof *h && h->magic == WIRE_MAGIC && h->kind == KIND_HELLO && h->wide <= MAX_WIDE &&
	       h->last <= MAX_LAST && h->flags <= HELLO_OWNS_IMAGE && fds == (h->wide ? 2 : 1);
}

int spawn_valid(const struct spawn *m, s64 len, int fds)
{
	if (len != (s64)sizeof *m || m->magic != WIRE_MAGIC || m->kind != KIND_SPAWN || m->joins > MAX_JOINS ||
	    m->has_cgroup > 1 || m->clock >= CLOCK_WORDS || m->flags > (SPAWN_FULL_PROC | SPAWN_SESSION | SPAWN_EXEC | SPAWN_VOLUME | SPAWN_NETWORK | SPAWN_INSTALL))
		return 0;
	if (m->flags & SPAWN_SESSION)
		return !(m->flags & (SPAWN_EXEC | SPAWN_INSTALL)) && m->joins == 0 && m->has_cgroup == 0 &&
		       fds == (m->flags & SPAWN_VOLUME ? FD_VOLUME + 1 : FD_STDIN);
	if ((m->flags & SPAWN_EXEC) && (m->flags & (SPAWN_NETWORK | SPAWN_INSTALL)))
		return 0; // an exec is in its session's namespaces
	return !(m->flags & SPAWN_VOLUME) && fds == (int)(FD_CGROUP + m->has_cgroup + m->joins);
}

int start_valid(const struct start *m, int fds)
{
	if (m->flags & ~(u32)(START_TEMPLATE | START_LINKED | START_PAIRED | START_MERGED | START_TTY | START_CONTROL) || (m->flags & START_MERGED && m->flags & START_LINKED))
		return 0;
	if (m->flags & START_TTY)
		return m->named == 0 && fds == 1 && !(m->flags & START_CONTROL);
	if (m->flags & START_CONTROL)
		return m->named == 2 && fds == 2 && !(m->flags & (START_TEMPLATE | START_LINKED));
	if (m->named > MAX_NAMED || (m->named && m->flags & START_TEMPLATE))
		return 0; // restore expects no descriptor but its own
	return fds == (m->flags & START_TEMPLATE ? 1 : 0) + (m->flags & START_LINKED ? 2 : 0) + (int)m->named;
}

// start_words stores pointers to the directory with argv, and to envp, in words, each list ended by a null pointer. Every
// word must end inside the message: the agent is trusted, but it may have a bug.
int start_words(char *msg, s64 len, char **words)
{
	const struct start *m = (const struct start *)msg;
	if (len < (s64)sizeof *m || m->magic != WIRE_MAGIC || m->kind != KIND_START ||
	    (u64)len != sizeof *m + m->strings || m->rlimits > MAX_RLIMITS || m->argc < 2 ||
	    m->argc > MAX_WORDS || m->envc > MAX_WORDS - m->argc || m->strings == 0 || msg[len - 1] != 0)
		return 0;
	char *p = msg + sizeof *m, *end = msg + len;
	u32 slot = 0;
	for (u32 i = 0; i < m->argc + m->envc; i++) {
		if (p == end)
			return 0;
		if (i == m->argc)
			words[slot++] = 0;
		words[slot++] = p;
		while (*p++)
			;
	}
	if (p != end)
		return 0;
	if (m->envc == 0)
		words[slot++] = 0;
	words[slot] = 0;
	return 1;
}
