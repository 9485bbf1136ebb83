/* decide_rows.c — the rows of `approvals`, `grants` and `pair`; see decide.c. */
#include "cli.h"
#include "commands.h"

static const struct sma_cli_command_option APPROVAL_OPTIONS[] = {
    {"items", 'i', false, SMA_VALUE_TEXT, NULL, "NUMBERS",
     "only these items (default: all that are open)"},
    {"always", 'a', false, SMA_VALUE_NONE, NULL, NULL,
     "and the same again without a question, in that chat"},
    {"for", 'f', false, SMA_VALUE_TEXT, NULL, "TIME",
     "likewise, for a time: 30s 10m 2h 7d (30 days at most)"},
    {"response", 'r', false, SMA_VALUE_TEXT, NULL, "TEXT", "said to the agent, e.g. why not"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_approvals = {
    .name = "approvals",
    .run = sma_cli_approvals,
    .place = "[FOLDER]",
    .summary = "what waits for somebody's consent; give or refuse it",
    .usage = "shipmyagent approvals [FOLDER] [--json]\n"
             "shipmyagent approvals approve ID [FOLDER] [--items 1,3] [--always | --for 10m] "
             "[--response TEXT]\n"
             "shipmyagent approvals reject ID [FOLDER] [--items 1,3] [--response TEXT]\n",
    .options = APPROVAL_OPTIONS,
    .text = "Lists what the agent asks consent for, and decides it; the first 6 characters of an "
            "ID are enough.\n"
            "Exit status 0: done; 1: not done; 3: no service runs.\n",
    .verbs = "approve|reject",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_APPROVAL,
};

static const struct sma_cli_command_option GRANT_OPTIONS[] = {
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_grants = {
    .name = "grants",
    .run = sma_cli_grants,
    .place = "[FOLDER]",
    .summary = "what is allowed without a question; take it back",
    .usage = "shipmyagent grants [list] [FOLDER] [--json]\n"
             "shipmyagent grants revoke ID [FOLDER]\n",
    .options = GRANT_OPTIONS,
    .text = "Lists what is allowed without a question, in which chat and until when; revoke takes "
            "it back.\n",
    .verbs = "revoke|list",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_GRANT,
};

static const struct sma_cli_command_option PAIR_OPTIONS[] = {
    {"role", 'o', false, SMA_VALUE_WORDS, "member|admin|owner", NULL,
     "what `approve` makes of a person (default: member)"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_pair = {
    .name = "pair",
    .run = sma_cli_pair,
    .place = "[FOLDER]",
    .summary = "let strangers in, by the code they were shown",
    .usage = "shipmyagent pair [list] [FOLDER] [--json]\n"
             "shipmyagent pair approve CODE|PERSON|GROUP [FOLDER] [--role member|admin|owner]\n"
             "shipmyagent pair reject CODE|PERSON|GROUP [FOLDER]\n",
    .options = PAIR_OPTIONS,
    .text =
        "Strangers are shown a code when they write first. `approve` lets the one with this code "
        "in, as a member\n"
        "(talks), an admin (also decides in chats of that platform) or an owner (decides "
        "everywhere). PERSON is\n"
        "somebody of the list, for example telegram:1001: `approve` changes the role, `reject` "
        "takes it away.\n"
        "A group that strangers take the bot into shows a code too: approved, the group is let in, "
        "and who administers it\n"
        "by its platform's word is an admin there. GROUP is for example telegram:chat:-1001234.\n"
        "The first owner: write to the bot, then `shipmyagent pair approve CODE --role owner`.\n",
    .verbs = "approve|reject|list",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_PAIRING,
};
