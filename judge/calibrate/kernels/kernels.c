// Six fixed pieces of work. Each prints a number that follows from all of it.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static uint64_t integers(void) {
  uint64_t sum = 1;
  for (uint32_t i = 0; i < 240000000u; i++) sum = (sum << 5) - sum + (i ^ (sum >> 11));
  return sum;
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static uint64_t sorting(void) {
  enum { n = 2000000 };
  uint32_t *all = malloc(n * sizeof *all);
  for (int i = 0; i < n; i++) all[i] = (uint32_t)next();
  qsort(all, n, sizeof *all, compare);
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) sum = sum * 31 + all[i];
  return sum;
}

static uint64_t lookups(void) {
  enum { size = 1 << 22 };
  uint64_t *table = calloc(size, sizeof *table), sum = 0;
  for (int i = 0; i < 12000000; i++) {
    uint64_t key = next() | 1;
    uint64_t at = (key * 0x9E3779B97F4A7C15u) >> 42;
    table[at] ^= key;
    sum += table[(at * 2654435761u) & (size - 1)];
  }
  return sum;
}

static uint64_t floats(void) {
  double a = 0.5, b = 1.5, c = 2.5, d = 3.5;
  for (int i = 0; i < 125000000; i++) {
    a = a * 0.999999 + 1e-6;
    b = b * 0.999998 + a * 1e-6;
    c = c * 0.999997 + 1e-7;
    d = d * 0.999996 + c * 1e-6;
  }
  return (uint64_t)((a + b + c + d) * 1e6);
}

static uint64_t streaming(void) {
  enum { n = 1 << 22 };
  uint64_t *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = b[i] = (uint64_t)i;
  for (int pass = 0; pass < 90; pass++)
    for (int i = 0; i < n; i++) a[i] += b[i] ^ (uint64_t)pass;
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) sum ^= a[i] * 31;
  return sum;
}

static uint64_t allocation(void) {
  enum { n = 4096 };
  char *kept[n] = {0};
  uint64_t sum = 0;
  for (int i = 0; i < 12000000; i++) {
    uint64_t r = next();
    int at = (int)(r % n);
    free(kept[at]);
    size_t size = 16 + (r >> 20) % 400;
    kept[at] = malloc(size);
    memset(kept[at], (int)r, 16);
    sum += (unsigned char)kept[at][7] + size;
  }
  return sum;
}

int main(int argc, char **argv) {
  struct {
    const char *name;
    uint64_t (*run)(void);
  } all[] = {{"integers", integers}, {"sorting", sorting}, {"lookups", lookups}, {"floats", floats}, {"streaming", streaming}, {"allocation", allocation}};
  for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
    if (strcmp(argv[1], all[i].name) == 0) return printf("%llu\n", (unsigned long long)all[i].run()) < 0;
  return 2;
}
