/*
 * doctor_helpers.c — the programs beside this one that read what strangers made, the skills that
 * guide the agent, and what is left of the memory of the program before.
 */
#include "doctor_priv.h"

#include "runtime/exec/helper.h"
#include "runtime/memory/memory_old.h"
#include "runtime/skills/scan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMES_SHOWN 5

/* -- programs ---------------------------------------------------------------------------------- */
bool doctor_has_helper(const char *name)
{
    struct sma_buf path;
    sma_buf_init(&path, PATH_MAX * 2);
    bool is_there = sma_helper_find(name, &path);
    sma_buf_fini(&path);
    return is_there;
}

void doctor_look_at_helpers(struct doctor *doctor)
{
    static const struct
    {
        const char *name, *lost;
    } helpers[] = {{"fetch-page", "web_fetch and web_search cannot be done"},
                   {"shrink-picture", "pictures that a model does not take as they are are not "
                                      "shown to it"}};
    bool is_fine = true;
    for (size_t i = 0; i < SMA_COUNT_OF(helpers); i++) {
        if (doctor_has_helper(helpers[i].name))
            continue;
        is_fine = false;
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "helper programs",
                   "install the whole package again, not the one program: scripts/install, or the "
                   ".deb",
                   "%s is not installed beside this program: %s", helpers[i].name, helpers[i].lost);
    }
    if (is_fine)
        doctor_say(&doctor->report, SMA_PROBE_OK, "helper programs", "",
                   "fetch-page and shrink-picture are there");
}

/* -- skills ------------------------------------------------------------------------------------ */
static void name_some(const struct sma_skills *skills, enum sma_skill_state state,
                      enum sma_skill_state other, char *names, size_t size)
{
    size_t count = 0, len = 0;
    names[0] = '\0';
    for (size_t i = 0; i < skills->count && len < size; i++) {
        const struct sma_skill *skill = &skills->list[i];
        if (skill->state != state && skill->state != other)
            continue;
        const char *text = ++count <= NAMES_SHOWN ? skill->id : "...";
        if (count <= NAMES_SHOWN + 1)
            len += (size_t)snprintf(names + len, size - len, "%s%s", count > 1 ? ", " : "", text);
    }
}

static bool say_held_back(struct doctor *doctor, const struct sma_skills *skills)
{
    char names[1024];
    size_t held =
        sma_skills_count(skills, SMA_SKILL_NEW) + sma_skills_count(skills, SMA_SKILL_CHANGED);
    if (held == 0 || !skills->has_record) /* without a record the first start accepts them */
        return true;
    name_some(skills, SMA_SKILL_NEW, SMA_SKILL_CHANGED, names, sizeof names);
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "skills",
               "look at them and accept them: shipmyagent skills accept",
               "%zu held back from the agent, new or changed since you looked: %s", held, names);
    return false;
}

static bool say_broken(struct doctor *doctor, const struct sma_skills *skills)
{
    bool is_fine = true;
    for (size_t i = 0; i < skills->count; i++) {
        const struct sma_skill *skill = &skills->list[i];
        if (skill->state != SMA_SKILL_BROKEN && !skill->has_front_error)
            continue;
        is_fine = false;
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "skills",
                   "correct it, or remove its folder; `shipmyagent skills check` says the same",
                   "%s: %s", skill->place, skill->why == NULL ? "it is broken" : skill->why);
    }
    for (const char *at = skills->notes; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        is_fine = false;
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "skills",
                   "correct skills.paths in ship.json, or that folder", "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
    }
    return is_fine;
}

/* What the program before has left of people's memory, and nobody has read yet. */
void doctor_look_at_memory(struct doctor *doctor)
{
    char folder[PATH_MAX];
    if (doctor->config == NULL ||
        snprintf(folder, sizeof folder, "%s/memory", doctor->config->state_dir) >= PATH_MAX)
        return;
    uint32_t count = sma_memory_old_count(folder);
    if (count == 0)
        return;
    bool is_off = doctor->config->memory == SMA_MEMORY_REFUSE;
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "memory",
               is_off ? "allow it, or take them out (docs/memory.md)"
                      : "start the service: it proposes what is in them in their chats, where "
                        "/memory shows and keeps it; the files stay",
               "%u memory files of the program before in %s are not taken over%s", count, folder,
               is_off ? ": permissions.memory is \"refuse\"" : "");
}

void doctor_look_at_skills(struct doctor *doctor)
{
    struct sma_skills *skills = NULL;
    if (doctor->config == NULL || !doctor->config->has_skills ||
        sma_skills_scan(doctor->config, NULL, &skills) != SMA_ERR_OK)
        return;
    bool has_all = say_held_back(doctor, skills);
    bool is_fine = say_broken(doctor, skills) && has_all;
    if (is_fine && skills->count > 0)
        doctor_say(&doctor->report, SMA_PROBE_OK, "skills", "", "%zu, all of them %s",
                   skills->count,
                   skills->has_record ? "accepted" : "to be accepted by the first start");
    sma_skills_destroy(skills);
}
