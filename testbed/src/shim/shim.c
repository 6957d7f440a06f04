/* Shows a process a wall clock that is ahead by LEASE_TEST_AHEAD seconds, or behind where that is
   negative. Whatever waits for a moment of that clock still waits for as long as it meant to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(void) {
  const char *text = getenv("LEASE_TEST_AHEAD");
  return text ? (time_t)atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, now);
  if (!result && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  if (!result && now) now->tv_sec += ahead();
  return result;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

/* A moment of the wall clock, and not one since the machine was started. */
static struct timespec meant(const struct timespec *until) {
  struct timespec moment = *until;
  if (moment.tv_sec > 1000000000) moment.tv_sec -= ahead();
  return moment;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
#ifdef __x86_64__
  if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
#endif
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec moment = meant(until);
  return real(cond, mutex, &moment);
}

int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           clockid_t id, const struct timespec *restrict until) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  struct timespec moment = meant(until);
  return real(cond, mutex, id, &moment);
}
