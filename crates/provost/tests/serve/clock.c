/* Goes before the C library of a process and moves its wall clock: by as many seconds as stand in
   the file that WALL_CLOCK_AHEAD names. What counts time since a moment of its own is not moved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("WALL_CLOCK_AHEAD");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *seen = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (seen != MAP_FAILED) ahead = seen;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && clock == CLOCK_REALTIME && ahead) now->tv_sec += *ahead;
  return failed;
}
