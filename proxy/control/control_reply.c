/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request to its response: decodes, gives it to the command that it is
 * (control_reply_*.c), and encodes what that made.
 *
 *	bytes ──▶ Request ──▶ reply_COMMAND() ──▶ Response ──▶ bytes
 *	                        │        ▲
 *	                        ▼        │ in an arena
 *	             a server, its modules
 *
 * Messages point into the arena of their response, and into what the servers
 * have; so the whole is freed at once, and whether memory was short is asked
 * once, at the end.
 */
#include "control/control_reply.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/places.h"
#include "control/control_reply_private.h"
#include "control/protocol.h"

/* ---- for all commands ------------------------------------------------- */

/* Work is counted against others' only when it begins: a client that has begun
 * goes on whatever others do, so every work ends. */
void *reply_work(struct reply *r, size_t size,
    void (*free)(struct control_work *w), bool *begun)
{
	struct control_session *s = r->session;

	*begun = !s->work && s->may_work;
	r->later = !s->work && !s->may_work;
	if (!*begun)
		return s->work;
	s->work = calloc(1, size);
	if (s->work)
		s->work->free = free;
	else
		r->arena.failed = true;
	return s->work;
}

/* A reply to a client that is refused at accept(2) has no session. */
void reply_work_end(struct reply *r)
{
	struct control_session *s = r->session;

	if (!s)
		return;
	s->restarted = false;
	if (s->work) {
		s->work->free(s->work);
		s->work = NULL;
	}
}

/* A client that carries a file already goes on. */
bool reply_may_carry(struct reply *r)
{
	if (r->session->blob || r->session->may_carry)
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
	    "too many exports and imports are under way; try again");
	return false;
}

/* The work's place among the servers is meaningless now, and what it has
 * collected may be of one that is gone. Most requests are just begun anew; an
 * import, whose bytes are used up, is refused (`restarted`). */
bool control_reply_restart(struct control_session *session)
{
	if (!session->work || session->work->no_server)
		return false;
	session->work->free(session->work);
	session->work = NULL;
	session->restarted = true;
	return true;
}

void control_reply_forget(struct control_session *session)
{
	if (session->work)
		session->work->free(session->work);
	session->work = NULL;
	free(session->blob);
	session->blob = NULL;
	session->blob_len = 0;
}

/* The last error counts, and replaces a result that was begun. */
void reply_error(struct reply *r, Forefetch__ErrorCode code, const char *text)
{
	forefetch__error__init(&r->error);
	r->error.code = code;
	r->error.text = (char *)text;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_ERROR;
	r->res.error = &r->error;
}

void reply_errno(struct reply *r, const struct reply_why *whys, int error)
{
	while (whys->text && whys->error != error)
		whys++;
	if (whys->text)
		reply_error(r, whys->code, whys->text);
	else
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd does not have enough memory for this");
}

void reply_unknown_command(struct reply *r)
{
	reply_error(r, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND,
	    "forefetchd does not know this command");
}

void reply_not_begun(struct reply *r)
{
	reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
	    "nothing was begun over this connection");
}

struct user reply_user(const struct reply *r)
{
	return (struct user){.uid = r->peer->uid,
	    .gid = r->peer->gid,
	    .groups = r->peer->groups,
	    .ngroups = r->peer->groups_len};
}

bool reply_sees_all(const struct reply *r)
{
	return places_owner(r->peer->uid);
}

ProtobufCBinaryData reply_bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = text ? strlen(text) : 0,
	    .data = (uint8_t *)text,
	};
}

/* A NUL within a path would cut it for the modules, which take C strings, so
 * that they would check another path than the client means. */
const char *reply_text(struct reply *r, const ProtobufCBinaryData *b)
{
	char *text;

	if (b->len >= CONTROL_PATH_MAX ||
	    (b->len > 0 && memchr(b->data, '\0', b->len)))
		return NULL;
	text = arena_alloc(&r->arena, b->len + 1, 1);
	if (text && b->len > 0)
		memcpy(text, b->data, b->len);
	return text;
}

/* ---- which servers ---------------------------------------------------- */

bool reply_wants(
    const ProtobufCBinaryData *filter, const void *name, size_t len)
{
	return filter->len == 0 ||
	       (len == filter->len && memcmp(name, filter->data, len) == 0);
}

/* Stops where memory is short, so that no caller writes through a list that
 * arena_messages() could not make. */
bool reply_next(struct reply_servers *s)
{
	const struct reply *r = s->reply;

	while (!r->arena.failed && r->ops->server(r->ctx, s->next, &s->at)) {
		s->next++;
		if (reply_wants(s->filter, s->at.name, strlen(s->at.name)))
			return true;
	}
	return false;
}

void reply_no_server(struct reply *r)
{
	reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER,
	    "no server of that name is configured");
}

bool reply_count(struct reply *r, const ProtobufCBinaryData *filter, size_t *n)
{
	struct reply_servers s = {.reply = r, .filter = filter};

	for (*n = 0; reply_next(&s);)
		++*n;
	if (filter->len == 0 || *n > 0)
		return true;
	reply_no_server(r);
	return false;
}

void *reply_messages(
    struct reply_servers *s, const ProtobufCMessageDescriptor *kind)
{
	size_t n;

	return reply_count(s->reply, s->filter, &n)
		   ? arena_messages(&s->reply->arena, kind, n)
		   : NULL;
}

/* A request without a name means the only server: people with one server never
 * type its name. */
bool reply_server(struct reply *r, const ProtobufCBinaryData *filter,
    struct control_server *out)
{
	struct reply_servers s = {.reply = r, .filter = filter};

	if (!reply_next(&s)) {
		reply_no_server(r);
		return false;
	}
	*out = s.at;
	if (!reply_next(&s))
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER,
	    "there are several servers: name one with --server");
	return false;
}

/* ---- requests and responses ------------------------------------------- */

/* A command is answered by the result of the same number. `owners` is the
 * sentence that others are told where only root and the daemon's user may use
 * it, else NULL. */
/* clang-format off */
#define COMMAND(NAME, name, result, owners) \
	{FOREFETCH__REQUEST__COMMAND_##NAME, reply_##name, \
	    &forefetch__##result##__descriptor, owners}
#define OWNERS "only root and the user that forefetchd runs as may "
static const struct {
	Forefetch__Request__CommandCase command;
	reply_command *reply;
	const ProtobufCMessageDescriptor *result;
	const char *owners;
} commands[] = {
	COMMAND(STATUS, status, status, NULL),
	COMMAND(STATS, stats, stats, NULL),
	COMMAND(FLUSH, flush, flushed, OWNERS "empty its caches"),
	COMMAND(COMPACT, compact, compacted, OWNERS "reorder its caches"),
	COMMAND(WARM, warm, warmed, NULL),
	COMMAND(EXPLAIN, explain, explained, NULL),
	COMMAND(TRACE, trace, traced, NULL),
	COMMAND(PIN, pin, pins, NULL),
	COMMAND(HINT, hint, hinted, NULL),
	COMMAND(TREES, trees, trees, NULL),
	COMMAND(RELOAD, reload, reloaded, OWNERS "reload its configuration"),
	COMMAND(ACTIVITY, activity, activity, NULL),
	COMMAND(PAUSE, pause, paused,
	    OWNERS "pause and resume fetching ahead"),
	COMMAND(FARM, farm, farmed, OWNERS "check and empty its farm"),
	COMMAND(LOG_LEVEL, log_level, log_level, OWNERS "choose what it logs"),
	COMMAND(FORGET, forget, forgotten, OWNERS "empty its caches"),
};
/* clang-format on */

/* A program that was started before an upgrade keeps the library for hints of
 * its time, so hints are taken from that, too. */
static bool is_version_known(const Forefetch__Request *request)
{
	return request->version == CONTROL_VERSION ||
	       (request->version >= CONTROL_VERSION_HINTS &&
		   request->version < CONTROL_VERSION &&
		   request->command_case == FOREFETCH__REQUEST__COMMAND_HINT);
}

/* Runs the i-th of `commands`, if the peer may. */
static void reply_run(
    struct reply *r, size_t i, const Forefetch__Request *request)
{
	void *out = arena_message(&r->arena, commands[i].result);

	if (commands[i].owners && !reply_sees_all(r)) {
		reply_error(r, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		    commands[i].owners);
		return;
	}
	if (!out)
		return;
	/* All members of the union are pointers to messages. */
	r->res.result_case =
	    (Forefetch__Response__ResultCase)commands[i].command;
	r->res.status = out;
	commands[i].reply(r, request, out);
}

/* From here on the request is only read, so a command may be answered in
 * several turns, each of which decodes it again. */
static void reply_dispatch(struct reply *r, const Forefetch__Request *request)
{
	if (!request) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "the request cannot be decoded");
		return;
	}
	if (!is_version_known(request)) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_VERSION,
		    request->version < CONTROL_VERSION
			? "forefetchd is newer; upgrade the program that asks"
			: "forefetchd is older; restart it");
		return;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].command == request->command_case) {
			reply_run(r, i, request);
			return;
		}
	}
	reply_unknown_command(r);
}

/* Makes a response that is too long fit: a status without its lists of clients,
 * anything else becomes an error. A client that is answered with an error knows
 * more than one that is cut off. */
static void reply_shrink(struct reply *r)
{
	if (r->res.result_case == FOREFETCH__RESPONSE__RESULT_STATUS) {
		for (size_t i = 0; i < r->res.status->n_servers; i++) {
			Forefetch__ServerStatus *srv =
			    r->res.status->servers[i];

			srv->clients_omitted += srv->n_clients;
			srv->n_clients = 0;
		}
	}
	if (forefetch__response__get_packed_size(&r->res) <=
	    CONTROL_RESPONSE_MAX)
		return;
	reply_error(r, FOREFETCH__ERROR_CODE__TOO_LARGE,
	    "the answer would be too large; ask for one server");
}

/* Packs the response into memory of its own, since the arena goes with this
 * turn: 0, or -ENOMEM. */
static int reply_pack(struct reply *r, uint8_t **out, size_t *out_len)
{
	size_t len;

	if (r->arena.failed)
		return -ENOMEM;
	len = forefetch__response__get_packed_size(&r->res);
	if (len > CONTROL_RESPONSE_MAX) {
		reply_shrink(r);
		len = forefetch__response__get_packed_size(&r->res);
	}
	*out = malloc(len);
	if (!*out)
		return -ENOMEM;
	*out_len = forefetch__response__pack(&r->res, *out);
	assert(*out_len == len);
	return 0;
}

int control_reply_build(const uint8_t *req, size_t req_len,
    const struct control_peer *peer, struct control_session *session,
    const struct control_ops *ops, void *ctx, uint8_t **out, size_t *out_len)
{
	struct reply r = {
	    .ops = ops, .ctx = ctx, .peer = peer, .session = session};
	Forefetch__Request *request;
	int error;

	forefetch__response__init(&r.res);
	r.res.version = CONTROL_VERSION;
	request = forefetch__request__unpack(NULL, req_len, req);
	reply_dispatch(&r, request);
	if (request)
		forefetch__request__free_unpacked(request, NULL);
	error = r.later ? -EAGAIN : reply_pack(&r, out, out_len);
	/* After an error it is over, too. */
	if (error != -EAGAIN)
		reply_work_end(&r);
	arena_clear(&r.arena);
	return error;
}

int control_reply_busy(uint8_t **out, size_t *out_len)
{
	struct reply r = {0};

	forefetch__response__init(&r.res);
	r.res.version = CONTROL_VERSION;
	reply_error(&r, FOREFETCH__ERROR_CODE__BUSY,
	    "too many programs talk to forefetchd; try again");
	return reply_pack(&r, out, out_len);
}
