/* tls_front.c — see tls_front.h. */
#include "tls_front.h"

#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-tls-XXXXXX";

/* -- certificates ------------------------------------------------------------------------------ */
static pid_t start(const char *const *arguments)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the harness blocks SIGHUP */
    CHECK(chdir(dir) == 0 && freopen("/dev/null", "w", stderr) != NULL);
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
}

static void run_openssl(const char *const *arguments)
{
    int status = 0;
    pid_t pid = start(arguments);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
}

static void make_authority(const char *name)
{
    char key[64], cert[64];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    run_openssl((const char *const[]){
        SMA_OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=Test authority", "-keyout", key, "-out", cert, NULL});
}

static void make_cert(const char *name, const char *hosts)
{
    char key[64], cert[64], request[64], extension[64], line[256];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(request, sizeof request, "%s.csr", name);
    snprintf(extension, sizeof extension, "%s/%s.ext", dir, name);
    FILE *file = fopen(extension, "w");
    CHECK(file != NULL);
    snprintf(line, sizeof line, "subjectAltName=%s\n", hosts);
    CHECK(fputs(line, file) >= 0 && fclose(file) == 0);
    run_openssl((const char *const[]){SMA_OPENSSL, "req", "-newkey", "ec", "-pkeyopt",
                                      "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x",
                                      "-keyout", key, "-out", request, NULL});
    run_openssl((const char *const[]){SMA_OPENSSL, "x509", "-req", "-in", request, "-CA", "ca.pem",
                                      "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                                      "-extfile", extension, "-out", cert, NULL});
}

/* -- nghttpx ----------------------------------------------------------------------------------- */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

static bool is_listening(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return is_there;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

void tls_front_start(struct tls_front *front, int backend_port, const char *cert)
{
    char listen[64], backend[64], key[64], pem[64], log[160];
    front->port = free_port();
    snprintf(front->log, sizeof front->log, "%s/access-%d", dir, front->port);
    snprintf(front->url, sizeof front->url, "https://127.0.0.1:%d", front->port);
    snprintf(listen, sizeof listen, "-f127.0.0.1,%d", front->port);
    snprintf(backend, sizeof backend, "-b127.0.0.1,%d", backend_port);
    snprintf(key, sizeof key, "%s.key", cert);
    snprintf(pem, sizeof pem, "%s.pem", cert);
    snprintf(log, sizeof log, "--accesslog-file=%s", front->log);
    front->pid = start((const char *const[]){
        SMA_NGHTTPX, "--conf=/dev/null", "--no-ocsp", "--workers=1", listen, backend, log,
        "--accesslog-format=$alpn $remote_port $status", "--accesslog-write-early",
        "--errorlog-file=/dev/null", key, pem, NULL});
    for (int i = 0; i < 5000 && !is_listening(front->port); i++)
        wait_a_little();
    CHECK(is_listening(front->port));
}

void tls_front_stop(const struct tls_front *front)
{
    kill(front->pid, SIGTERM);
    waitpid(front->pid, NULL, 0);
    unlink(front->log);
}

size_t tls_front_requests(const struct tls_front *front, size_t *ret_connections)
{
    bool seen[65536] = {false};
    size_t count = 0, connections = 0;
    char line[256];
    FILE *file = fopen(front->log, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned port = 0;
        if (sscanf(line, "h2 %u", &port) != 1 || port > 65535)
            continue;
        count++;
        connections += !seen[port];
        seen[port] = true;
    }
    if (file != NULL)
        fclose(file);
    *ret_connections = connections;
    return count;
}

/* -- set-up ------------------------------------------------------------------------------------ */
void tls_front_trust(const char *authority)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.pem", dir, authority);
    setenv("SSL_CERT_FILE", path, 1);
}

void tls_front_init(const char *hosts)
{
    CHECK(mkdtemp(dir) != NULL);
    make_authority("ca");
    make_authority("stranger");
    make_cert("good", hosts);
    make_cert("other", "DNS:other.example");
    tls_front_trust("ca");
}

void tls_front_fini(void)
{
    static const char *const files[] = {"ca.key",      "ca.pem",    "ca.srl",    "good.key",
                                        "good.pem",    "good.csr",  "good.ext",  "other.key",
                                        "other.pem",   "other.csr", "other.ext", "stranger.key",
                                        "stranger.pem"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}
