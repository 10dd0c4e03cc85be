#ifndef BRIG_DECODE_H
#define BRIG_DECODE_H

#include "wire.h"

// Each returns 1 for a message that may be acted on, 0 for any other.
int hello_valid(const struct hello *h, s64 len, int fds);
int spawn_valid(const struct spawn *m, s64 len, int fds);
int start_valid(const struct start *m, int fds); // of a message whose words are valid
int start_words(char *msg, s64 len, char **words); // words: MAX_WORDS + 2

#endif
