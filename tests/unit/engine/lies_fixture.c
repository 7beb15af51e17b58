/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine under test and a server that lies; see the header. */
#include "engine/lies_fixture.h"

#include "unittest.h"
#include "scenario/vclock.h"

void lies_open(struct lies *l)
{
	farm_open(&l->w);
	vclock_start(l->w.base);
	l->fake = fake_new(l->w.base);
	farm_url(&l->w, fake_url(l->fake));
}

void lies_close(struct lies *l)
{
	engine_free(l->w.engine);
	l->w.engine = NULL;
	fake_free(l->fake);
	farm_close(&l->w);
}

void lies_again(struct lies *l)
{
	lies_close(l);
	memset(l, 0, sizeof(*l));
	lies_open(l);
}

void lies_set_url(struct lies *l, const char *url)
{
	free(l->w.urls[0]);
	l->w.urls[0] = strdup(url);
}

void lies_begin(struct lies *l)
{
	farm_begin(&l->w);
	vclock_pass(100 * MS);
}

void lies_begin_up(struct lies *l)
{
	lies_begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_UP);
}

char *lies_ask(struct lies *l, const char *key)
{
	struct question q;

	assert_true(farm_ask(&l->w, &q, key, 100 * MS));
	assert_int_equal(q.answers, 0);
	vclock_pass(200 * MS);
	assert_int_equal(q.answers, 1);
	return q.value;
}

void lies_expect(struct lies *l, enum engine_state state, const char *word)
{
	struct engine_status st = farm_status(&l->w);

	if (st.state != state || !strstr(st.error, word))
		fail_msg("it is %s (%s), not %s (%s)",
		    engine_state_name(st.state), st.error,
		    engine_state_name(state), word);
}

void lies_recover(struct lies *l)
{
	char *value;

	fake_greet_with(l->fake, NULL, 0);
	fake_cut_after(l->fake, 0);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	vclock_pass(70 * S);
	lies_expect(l, ENGINE_UP, "");
	value = lies_ask(l, "key");
	assert_string_equal(value, "hi");
}
