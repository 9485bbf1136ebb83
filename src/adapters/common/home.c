/* home.c — see home.h. */
#include "home.h"

#include <stdio.h>

void sma_home_init(struct sma_home *home, const char *platform, const char *name)
{
    bool is_named = name != NULL && name[0] != '\0';
    (void)snprintf(home->name, sizeof home->name, "%s", is_named ? name : platform);
    (void)snprintf(home->folder, sizeof home->folder, ".ship/.cache/%s/", home->name);
    (void)snprintf(home->webhook, sizeof home->webhook, "/webhooks/%s", home->name);
    char *at = strchr(home->webhook, '@');
    if (at != NULL)
        *at = '/';
}
