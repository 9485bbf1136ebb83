/*
 * Aim: what `cmake --install` puts down is complete, runs from there, and was built hardened.
 * Method: install the build tree into a folder of its own, look at every file, run the binary from
 *         it, read its ELF headers; let systemd check the unit where systemd is.
 *   install_release CMAKE BUILD_DIR PREFIX
 */
#include "process.h"
#include "support/check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *cmake, *build_dir;
static const char *prefix;
static struct folder place; /* the DESTDIR */
static char root[256];      /* place + prefix */

static const char *file_at(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void run_it(const char *const *argv, const char *input, const char *part)
{
    char *output = NULL;
    int status = run_to_end((char *const *)argv, input, &output, 60000);
    if (status != 0 || strstr(output, part) == NULL)
        fprintf(stderr, "%s %s: status %d\n%s\n", argv[0], argv[1], status, output);
    CHECK_INT(0, status);
    CHECK(strstr(output, part) != NULL);
    free(output);
}

CASE(everything_is_installed)
{
    CHECK(setenv("DESTDIR", place.path, 1) == 0);
    run_it((const char *const[]){cmake, "--install", build_dir, "--prefix", prefix, NULL}, "",
           "shipmyagent");
    CHECK(unsetenv("DESTDIR") == 0);
    static const char *const files[] = {"bin/shipmyagent",
                                        "bin/sma",
                                        "share/man/man1/shipmyagent.1",
                                        "share/man/man1/sma.1",
                                        "lib/systemd/system/shipmyagent@.service",
                                        "share/bash-completion/completions/shipmyagent",
                                        "share/bash-completion/completions/sma",
                                        "share/zsh/vendor-completions/_shipmyagent",
                                        "share/fish/vendor_completions.d/shipmyagent.fish",
                                        "share/doc/shipmyagent/README.md",
                                        "share/doc/shipmyagent/LICENSE",
                                        "share/doc/shipmyagent/copyright",
                                        "libexec/shipmyagent/simulate-telegram",
                                        "libexec/shipmyagent/simulate-feishu",
                                        "libexec/shipmyagent/simulate-qq",
                                        "libexec/shipmyagent/simulate-model",
                                        "libexec/shipmyagent/bench",
                                        "libexec/shipmyagent/chaos",
                                        "share/doc/shipmyagent/simulators/README.md"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        struct stat status;
        if (stat(file_at(files[i]), &status) != 0) /* follows links: they must lead somewhere */
            fprintf(stderr, "%s is not there\n", files[i]);
        CHECK(stat(file_at(files[i]), &status) == 0 && S_ISREG(status.st_mode) &&
              status.st_size > 0);
        CHECK_INT(0, status.st_mode & 022); /* nobody else may write it */
    }
    char target[256];
    ssize_t len = readlink(file_at("bin/sma"), target, sizeof target - 1);
    CHECK(len > 0);
    target[len] = '\0';
    CHECK_TEXT("shipmyagent", target); /* relative: a package can be unpacked anywhere */
    CHECK(access(file_at("bin/shipmyagent"), X_OK) == 0);
}

/* Whoever reads the documents of a package has no clone beside them. */
CASE(links_of_the_readme_lead_somewhere)
{
    char *text = NULL;
    const char *argv[] = {"/bin/cat", file_at("share/doc/shipmyagent/README.md"), NULL};
    size_t count = 0;
    CHECK_INT(0, run_to_end((char *const *)argv, "", &text, 10000));
    for (const char *at = text; (at = strstr(at, "](")) != NULL;) {
        char name[256], path[256];
        at += 2;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(at, ")#"), at);
        if (path[0] == '\0' || strstr(path, "://") != NULL)
            continue;
        snprintf(name, sizeof name, "share/doc/shipmyagent/%s", path);
        if (access(file_at(name), R_OK) != 0)
            fprintf(stderr, "%s is not there\n", name);
        CHECK(access(file_at(name), R_OK) == 0);
        count++;
    }
    CHECK(count > 5);
    free(text);
}

CASE(it_runs_from_there)
{
    char binary[512], link[512];
    snprintf(binary, sizeof binary, "%s", file_at("bin/shipmyagent"));
    snprintf(link, sizeof link, "%s", file_at("bin/sma"));
    run_it((const char *const[]){binary, "--version", NULL}, "", SMA_VERSION);
    run_it((const char *const[]){link, "--version", NULL}, "", SMA_VERSION);
    struct folder project;
    folder_create(&project, "{\"name\":\"installed\",\"llm\":{\"provider\":\"offline\"}}");
    run_it((const char *const[]){link, "chat", project.path, NULL},
           "please repeat purple elephant\n", "You said: please repeat purple elephant");
    folder_remove(&project);
    const char *completion[] = {"/bin/bash", "-n",
                                file_at("share/bash-completion/completions/shipmyagent"), NULL};
    run_it(completion, "", "");
}

/* -- the binary -------------------------------------------------------------------------------- */
static const Elf64_Phdr *find_header(const unsigned char *image, Elf64_Word type)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(image + head->e_phoff);
    for (size_t i = 0; i < head->e_phnum; i++)
        if (headers[i].p_type == type)
            return &headers[i];
    return NULL;
}

static Elf64_Xword dynamic_value(const unsigned char *image, Elf64_Sxword tag)
{
    const Elf64_Phdr *header = find_header(image, PT_DYNAMIC);
    CHECK(header != NULL);
    for (const Elf64_Dyn *entry = (const Elf64_Dyn *)(image + header->p_offset);
         entry->d_tag != DT_NULL; entry++) {
        CHECK(entry->d_tag != DT_TEXTREL);
        CHECK(entry->d_tag != DT_RPATH &&
              entry->d_tag != DT_RUNPATH); /* no libraries from odd places */
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    }
    return 0;
}

static bool has_text(const unsigned char *image, size_t size, const char *text)
{
    return memmem(image, size, text, strlen(text)) != NULL;
}

CASE(the_binary_is_hardened)
{
    int fd = open(file_at("bin/shipmyagent"), O_RDONLY | O_CLOEXEC);
    struct stat status;
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    const unsigned char *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(image != MAP_FAILED);
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    CHECK(memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64);
    CHECK_INT(ET_DYN, head->e_type); /* position independent */
    CHECK((dynamic_value(image, DT_FLAGS_1) & DF_1_PIE) != 0);
    CHECK((dynamic_value(image, DT_FLAGS_1) & DF_1_NOW) !=
          0); /* every symbol is bound before the start, ... */
    CHECK(find_header(image, PT_GNU_RELRO) != NULL); /* ... then the tables become read-only */
    const Elf64_Phdr *stack = find_header(image, PT_GNU_STACK);
    CHECK(stack != NULL && (stack->p_flags & PF_X) == 0);
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(image + head->e_phoff);
    for (size_t i = 0; i < head->e_phnum; i++)
        CHECK((headers[i].p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
    size_t size = (size_t)status.st_size;
    CHECK(has_text(image, size, "__stack_chk_fail"));
    CHECK(has_text(image, size, "_chk")); /* checked variants of the string functions */
    CHECK(!has_text(image, size, "__asan_init") && !has_text(image, size, "__tsan_init"));
    CHECK(!has_text(image, size,
                    SMA_SOURCE_DIR
                    "/src/")); /* the same source gives the same bytes, wherever it lies */
    CHECK(munmap((void *)image, size) == 0);
    close(fd);
}

/* The unit names the installed path; systemd wants to find the binary there, so it is checked with
 * this one's. */
CASE(the_unit_names_the_binary)
{
    struct folder installed;
    snprintf(installed.path, sizeof installed.path, "%.127s", root);
    char *text = folder_read(&installed, "lib/systemd/system/shipmyagent@.service");
    CHECK(text != NULL);
    char *line = strstr(text, "\nExecStart=");
    CHECK(line != NULL);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\nExecStart=%s/bin/shipmyagent start", prefix);
    char *rest = strstr(line, "/shipmyagent start");
    CHECK(strncmp(line, wanted, strlen(wanted)) == 0 && rest != NULL);
    CHECK(strstr(text, "WatchdogSec=") != NULL && strstr(text, "NoNewPrivileges=yes") != NULL);
    line[0] = '\0';
    char path[512];
    snprintf(path, sizeof path, "%s/shipmyagent@test.service", place.path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "%s\nExecStart=%s/bin%s", text, root, rest);
    CHECK(fclose(file) == 0);
    free(text);
    if (access("/usr/bin/systemd-analyze", X_OK) != 0) {
        fprintf(stderr, "systemd-analyze is not here: the rest of the unit is not checked\n");
        return;
    }
    char *output = NULL;
    const char *argv[] = {"/usr/bin/systemd-analyze", "verify", "--man=no", path, NULL};
    int status = run_to_end((char *const *)argv, "", &output, 60000);
    bool is_about_us = strstr(output, "shipmyagent@") != NULL;
    if (status != 0 || is_about_us)
        fprintf(stderr, "systemd-analyze: %d\n%s\n", status, output);
    CHECK(!is_about_us); /* it also complains about other units of a machine */
    free(output);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    cmake = argv[1];
    build_dir = argv[2];
    prefix = argv[3];
    folder_create(&place, NULL);
    snprintf(root, sizeof root, "%s%s", place.path, prefix);
    check_run_cases(NULL);
    folder_remove(&place);
    return check_summary();
}
