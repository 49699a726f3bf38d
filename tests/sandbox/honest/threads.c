#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define CHECK(x) do { if (!(x)) { perror(#x); exit(1); } } while (0)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *add(void *n) { pthread_mutex_lock(&mutex); sum += *(int *)n; pthread_mutex_unlock(&mutex); return n; }
int main(void) {
    pthread_t threads[8];
    int numbers[8];
    for (int i = 0; i < 8; i++) { numbers[i] = i; CHECK(pthread_create(&threads[i], 0, add, &numbers[i]) == 0); }
    for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], 0) == 0);
    CHECK(sum == 28);
    sem_t sem;
    CHECK(sem_init(&sem, 0, 1) == 0 && sem_wait(&sem) == 0);
    int ring = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(ring >= 0 && event >= 0 && timer >= 0);
    struct epoll_event want = {.events = EPOLLIN}, got;
    CHECK(epoll_ctl(ring, EPOLL_CTL_ADD, timer, &want) == 0);
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    CHECK(timerfd_settime(timer, 0, &soon, 0) == 0 && epoll_wait(ring, &got, 1, 5000) == 1);
    FILE *f = tmpfile();
    if (f) { fputs("x", f); fclose(f); }
    int own = open("own", O_RDWR | O_CREAT, 0644);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CHECK(own >= 0 && ftruncate(own, 4096) == 0 && fcntl(own, F_SETLKW, &lock) == 0 && fchmod(own, 0600) == 0);
    char *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    CHECK(map != MAP_FAILED);
    memcpy(map, "abc", 3);
    CHECK(msync(map, 4096, MS_SYNC) == 0 && munmap(map, 4096) == 0);
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    CHECK(system("true") == 0);
    char line[8] = "";
    FILE *p = popen("echo hi", "r");
    CHECK(p && fgets(line, sizeof line, p) && strcmp(line, "hi\n") == 0 && pclose(p) == 0);
    struct timespec moment = {0, 1000};
    CHECK(nanosleep(&moment, 0) == 0);
    void *large = malloc(1 << 24);
    CHECK(large && (large = realloc(large, 1 << 25)));
    free(large);
    puts("well");
    return 0;
}
