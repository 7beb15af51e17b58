/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine under test; see the header. */
#include "engine/engine_fixture.h"

#include <assert.h>
#include <signal.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/log.h"

enum { LIMIT_US = 60000000, LOOK_US = 2000, DEADLINE_US = 20000000 };

void farm_open(struct farm_world *w)
{
	static char none[] = "";

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	*w = (struct farm_world){.base = event_base_new()};
	w->farm.engine.list = w->urls;
	w->farm.user = w->farm.password_file = w->farm.key_file = none;
}

void farm_close(struct farm_world *w)
{
	engine_free(w->engine);
	event_base_free(w->base);
	for (size_t i = 0; i < w->farm.engine.n; i++)
		free(w->urls[i]);
}

void farm_url(struct farm_world *w, const char *url)
{
	assert(w->farm.engine.n < LENGTH(w->urls));
	w->urls[w->farm.engine.n++] = strdup(url);
}

void farm_begin(struct farm_world *w)
{
	w->engine = engine_new(w->base, &w->farm);
	assert(w->engine);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

void farm_until(struct farm_world *w, bool (*done)(void *arg), void *arg)
{
	unsigned looks = 0;
	struct timeval every = {0, LOOK_US};
	struct event *look =
	    event_new(w->base, -1, EV_PERSIST, on_look, &looks);

	event_add(look, &every);
	while (!done(arg)) {
		if (looks > LIMIT_US / LOOK_US) {
			struct engine_status st = farm_status(w);

			fprintf(stderr, "in vain; the engine is %s: %s\n",
			    engine_state_name(st.state), st.error);
			abort();
		}
		event_base_loop(w->base, EVLOOP_ONCE);
	}
	event_free(look);
}

struct engine_status farm_status(const struct farm_world *w)
{
	struct engine_status st;

	engine_get_status(w->engine, &st);
	return st;
}

enum engine_state farm_state(const struct farm_world *w)
{
	return farm_status(w).state;
}

struct wanted {
	struct farm_world *w;
	enum engine_state state;
	const char *word;
};

static bool is_in_state(void *arg)
{
	struct wanted *wanted = arg;

	return farm_state(wanted->w) == wanted->state;
}

static bool has_error(void *arg)
{
	struct wanted *wanted = arg;
	struct engine_status st = farm_status(wanted->w);

	return strstr(st.error, wanted->word) != NULL;
}

void farm_until_state(struct farm_world *w, enum engine_state state)
{
	struct wanted wanted = {.w = w, .state = state};

	farm_until(w, is_in_state, &wanted);
}

void farm_until_error(struct farm_world *w, const char *word)
{
	struct wanted wanted = {.w = w, .word = word};

	farm_until(w, has_error, &wanted);
}

static bool is_answered(void *arg)
{
	return ((struct question *)arg)->answers > 0;
}

void farm_until_answered(struct farm_world *w, struct question *q)
{
	farm_until(w, is_answered, q);
}

struct engine_key farm_key(const char *text)
{
	return (struct engine_key){.data = text, .len = strlen(text)};
}

static void on_value(struct engine_ask *a, const void *data, size_t len)
{
	struct question *q = (struct question *)a;

	q->answers++;
	if (!data)
		return;
	q->value = AFTER(free, malloc(len + 1));
	memcpy(q->value, data, len);
	q->value[len] = '\0';
	q->len = len;
}

bool farm_ask(struct farm_world *w, struct question *q, const char *key,
    uint64_t deadline_us)
{
	struct engine_key k = farm_key(key);

	*q = (struct question){.ask.on_value = on_value};
	return engine_get(w->engine, &k, deadline_us, &q->ask);
}

void farm_mark(struct farm_world *w, const char *key, const char *mark)
{
	struct engine_key k = farm_key(key);

	engine_mark(w->engine, &k, mark, strlen(mark), 10000);
}

bool farm_put(struct farm_world *w, const char *key, const char *value)
{
	struct engine_key k = farm_key(key);

	return engine_put(w->engine, &k, value, strlen(value), 0);
}

struct having {
	struct farm_world *w;
	const char *key;
	struct question q;
};

static bool could_ask(void *arg)
{
	struct having *h = arg;

	return farm_ask(h->w, &h->q, h->key, DEADLINE_US);
}

bool farm_has(struct farm_world *w, const char *key, const char *value)
{
	struct having h = {.w = w, .key = key};

	farm_until(w, could_ask, &h);
	farm_until_answered(w, &h.q);
	return h.q.value && strcmp(h.q.value, value) == 0;
}

static void on_flushed(void *ctx, uint64_t removed, const char *error)
{
	struct flushed *f = ctx;

	f->calls++;
	f->removed = removed;
	(void)snprintf(f->error, sizeof(f->error), "%s", error ? error : "");
}

bool farm_flush(struct farm_world *w, const char *prefix, struct flushed *f)
{
	return engine_flush(w->engine, prefix, on_flushed, f);
}

static bool is_flushed(void *arg)
{
	return ((struct flushed *)arg)->calls > 0;
}

void farm_until_flushed(struct farm_world *w, struct flushed *f)
{
	farm_until(w, is_flushed, f);
}
