/*
 * tools_person.c — the time of commands counts per person, all chats and runs together.
 *
 * A run that waits for a command leaves its place in agent.concurrency, so that nobody's `sleep
 * 600` holds up others. What bounds one person then stands here: SMA_EXEC_PERSON_PLACE_COUNT
 * commands at once (further ones wait, others' do not), and agent.commandSeconds in an hour. The
 * hour begins with the first command; a restart forgets it. At the limit a command is refused, or
 * ended, in words that say when there is time again.
 */
#include "tools_priv.h"

#include <stdio.h>

#define HOUR_NS (3600 * UINT64_C(1000000000))

static struct tools_person *find(struct sma_tools *tools, uint64_t who)
{
    for (size_t i = 0; i < tools->person_count; i++)
        if (tools->persons[i].who == who)
            return &tools->persons[i];
    return NULL;
}

/* His row, or a new one: in the place of one who runs nothing, and whose hour is the oldest. There
 * is one: fewer commands run at once than there are rows. */
static struct tools_person *take(struct sma_tools *tools, uint64_t who)
{
    _Static_assert(SMA_EXEC_PERSON_COUNT_MAX > SMA_EXEC_COUNT_MAX, "one of them is at rest");
    struct tools_person *person = find(tools, who);
    if (person != NULL)
        return person;
    if (tools->person_count < SMA_EXEC_PERSON_COUNT_MAX)
        person = &tools->persons[tools->person_count++];
    for (size_t i = 0; i < tools->person_count && tools->person_count == SMA_EXEC_PERSON_COUNT_MAX;
         i++) {
        struct tools_person *other = &tools->persons[i];
        if (other->running == 0 && (person == NULL || other->begin_ns < person->begin_ns))
            person = other;
    }
    SMA_ASSERT(person != NULL);
    *person = (struct tools_person){.who = who, .begin_ns = sma_ctx_now(tools->ctx)};
    return person;
}

static uint64_t limit_ns(const struct tools_job *job)
{
    return (uint64_t)job->setup->config->agent_command_seconds * UINT64_C(1000000000);
}

static void renew(struct tools_person *person, uint64_t now)
{
    if (now - person->begin_ns < HOUR_NS)
        return;
    person->begin_ns = now;
    person->used_ns = 0;
}

bool tools_person_has_place(const struct tools_job *job)
{
    const struct tools_person *person = find(job->tools, job->ask->person);
    return job->ask->person == 0 || person == NULL || person->running < SMA_EXEC_PERSON_PLACE_COUNT;
}

void tools_person_take_place(struct tools_job *job)
{
    take(job->tools, job->ask->person)->running++;
}

void tools_person_leave_place(struct tools_job *job)
{
    struct tools_person *person = find(job->tools, job->ask->person);
    SMA_ASSERT(person != NULL && person->running > 0);
    (void)tools_person_count(job);
    person->running--;
}

bool tools_person_count(struct tools_job *job)
{
    struct tools_person *person = find(job->tools, job->ask->person);
    struct tools_command *command = job->command;
    uint64_t now = sma_ctx_now(job->tools->ctx);
    SMA_ASSERT(person != NULL);
    renew(person, now);
    if (command != NULL && command->is_started) {
        person->used_ns += now - command->counted_ns;
        command->counted_ns = now;
    }
    return limit_ns(job) == 0 || person->used_ns < limit_ns(job);
}

void tools_person_describe(const struct tools_job *job, char *text, size_t size)
{
    const struct tools_person *person = find(job->tools, job->ask->person);
    uint64_t passed = person == NULL ? 0 : sma_ctx_now(job->tools->ctx) - person->begin_ns;
    uint64_t left = passed < HOUR_NS ? HOUR_NS - passed : 0;
    snprintf(text, size,
             "the commands of this person have run for %d seconds in this hour, which is the limit "
             "for all chats together (agent.commandSeconds in ship.json). There is time again in "
             "%llu minutes.",
             job->setup->config->agent_command_seconds,
             (unsigned long long)(left / (60 * UINT64_C(1000000000)) + 1));
}
