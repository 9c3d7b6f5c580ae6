/* Preloaded, it moves the clock of a program by CLOCK_STEP seconds: what it reads, and until when it waits. The clock of
   the kernel and of other programs stays. libfaketime does not move the waits of C11's threads, which librdkafka uses. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

#define REAL(name, version) real = real ? real : find(#name, version)
#define SINCE_1970 1000000000 /* seconds; a monotonic clock, which starts with the machine, is below */

static time_t step(void) {
    const char *text = getenv("CLOCK_STEP");
    return text ? atol(text) : 0;
}

static void *find(const char *name, const char *version) {
    void *versioned = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return versioned ? versioned : dlsym(RTLD_NEXT, name);
}

static struct timespec of_kernel(const struct timespec *deadline) {
    struct timespec moved = *deadline;
    if (moved.tv_sec > SINCE_1970) moved.tv_sec -= step();
    return moved;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    REAL(clock_gettime, NULL);
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += step();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (result) *result = precise.tv_sec;
    return precise.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *deadline) {
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec moved = of_kernel(deadline);
    REAL(cnd_timedwait, NULL);
    return real(condition, mutex, &moved);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec moved = of_kernel(deadline);
    REAL(pthread_cond_timedwait, "GLIBC_2.3.2");
    return real(condition, mutex, &moved);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
    static int (*real)(sem_t *, const struct timespec *);
    struct timespec moved = of_kernel(deadline);
    REAL(sem_timedwait, NULL);
    return real(semaphore, &moved);
}
