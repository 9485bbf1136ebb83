/*
 * page.c — `shipmyagent page`: a link that opens the page of the running service, signed in.
 */
#include "api.h"
#include "cli.h"
#include "commands.h"
#include "sma/text.h"

#include <getopt.h>
#include <stdio.h>

static int print_link(const struct sma_cli_api *api)
{
    struct sma_buf answer;
    long status = 0;
    sma_buf_init(&answer, 65536);
    int failed = sma_cli_api_call(api, "page", "/sign-in/codes", "{}", &answer, &status);
    json_t *root = failed == 0 ? json_loadb(answer.ptr, answer.len, 0, NULL) : NULL;
    const char *code = json_string_value(json_object_get(root, "code"));
    json_int_t seconds = json_integer_value(json_object_get(root, "seconds"));
    if (failed == 0 && status == 404)
        failed =
            sma_cli_fail("page: the service is an older version without a page: start it again");
    else if (failed == 0 && (status != 200 || code == NULL))
        failed = sma_cli_fail("page: the service answered HTTP %ld", status);
    if (failed == 0) {
        printf("%s/ui/#code=", api->base);
        sma_cli_print_clean(sma_str(code));
        printf("\n");
        fprintf(stderr, "It opens the page once, within %lld seconds; who opens it is the owner.\n",
                (long long)seconds);
    }
    json_decref(root);
    sma_buf_fini(&answer);
    return failed;
}

static int show_page(int argc, char **argv)
{
    struct sma_cli_api api;
    if (sma_cli_option(&sma_cli_command_page, argc, argv) != -1)
        return 1; /* it has none; one line was said */
    if (argc - optind > 1)
        return sma_cli_fail("page: one folder at most; see `shipmyagent help page`");
    const char *folder = optind < argc ? argv[optind] : ".";
    int failed = sma_cli_api_open("page", folder, &api);
    if (failed == SMA_CLI_NOT_RUNNING)
        sma_cli_api_say_not_running(folder);
    return failed != 0 ? failed : print_link(&api);
}

const struct sma_cli_command sma_cli_command_page = {
    .name = "page",
    .run = show_page,
    .place = "[FOLDER]",
    .summary = "print a link that opens the page of the service in FOLDER",
    .usage = "shipmyagent page [FOLDER]\n",
    .text = "The page talks with the agent and shows how everything stands. The link opens it\n"
            "once, within two minutes; the browser stays signed in for 30 days, until it signs\n"
            "out or the API token is changed.\n",
    .first = SMA_VALUE_FOLDER,
};
