/*
 * The stub agent of the benchmark: an ACP agent that is faster than anything between it and the client.
 *
 * It finds the method and the id of a line by searching, not by parsing, which is enough for the benchmark's own client.
 *
 *   initialize                      answers with a neutral goal capability and one unknown _meta key
 *   session/new                     answers with session "s1"
 *   session/prompt "BENCH N SIZE"   sends N agent_message_chunk updates with SIZE bytes of text each, then ends the turn
 *   _bench/ping                     answers with nothing
 *   any other request               answers "method not found"
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_SIZE 128
#define OUTPUT_BUFFER (1 << 20)

static const char *const INITIALIZED =
    "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":false},\"authMethods\":[],"
    "\"_meta\":{\"goal\":{\"version\":1,\"controlMethod\":\"_session/goal\",\"actions\":[\"set\",\"clear\"]},"
    "\"x.vendor/unknown\":{\"a\":[1,2]}}}";
static const char *const SESSION = "\"result\":{\"sessionId\":\"s1\"}";
static const char *const PONG = "\"result\":{}";
static const char *const END_OF_TURN = "\"result\":{\"stopReason\":\"end_turn\"}";
static const char *const NOT_FOUND = "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}";

static const char *const UPDATE_HEAD =
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":"
    "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"";
static const char *const UPDATE_TAIL = "\"}}}}\n";

/* Copies the JSON text of the request's id into `id`; leaves it empty when the line has none. */
static void find_id(const char *line, char id[ID_SIZE])
{
    size_t length = 0;
    const char *at = strstr(line, "\"id\":");

    if (at != NULL) {
        at += strlen("\"id\":");
        at += strspn(at, " ");
        length = *at == '"' ? 2 + strcspn(at + 1, "\"") : strcspn(at, ",}");
        if (length >= ID_SIZE)
            length = 0;
        memcpy(id, at, length);
    }
    id[length] = '\0';
}

static void answer(const char *id, const char *outcome)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", id, outcome);
}

/* Sends `count` updates whose text is `size` times the letter x. */
static void send_updates(long count, size_t size)
{
    size_t head = strlen(UPDATE_HEAD), tail = strlen(UPDATE_TAIL), length = head + size + tail;
    char *update = malloc(length);

    if (update == NULL)
        exit(EXIT_FAILURE);
    memcpy(update, UPDATE_HEAD, head);
    memset(update + head, 'x', size);
    memcpy(update + head + size, UPDATE_TAIL, tail);
    while (count-- > 0)
        fwrite(update, 1, length, stdout);
    free(update);
}

static void run_turn(const char *line, const char *id)
{
    const char *order = strstr(line, "BENCH ");
    long count = 0;
    size_t size = 0;

    if (order != NULL && sscanf(order, "BENCH %ld %zu", &count, &size) == 2 && count > 0)
        send_updates(count, size);
    answer(id, END_OF_TURN);
}

int main(void)
{
    static char output[OUTPUT_BUFFER];
    char *line = NULL, id[ID_SIZE];
    size_t capacity = 0;

    setvbuf(stdout, output, _IOFBF, sizeof output);
    while (getline(&line, &capacity, stdin) > 0) {
        find_id(line, id);
        if (strstr(line, "\"session/prompt\"") != NULL)
            run_turn(line, id);
        else if (strstr(line, "\"initialize\"") != NULL)
            answer(id, INITIALIZED);
        else if (strstr(line, "\"session/new\"") != NULL)
            answer(id, SESSION);
        else if (strstr(line, "\"_bench/ping\"") != NULL)
            answer(id, PONG);
        else if (id[0] != '\0')
            answer(id, NOT_FOUND);
        fflush(stdout);
    }
    free(line);
    return EXIT_SUCCESS;
}
