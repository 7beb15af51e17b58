/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch top on a terminal: pages, and what keys do to them. */
#include "top/top_live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "top/top_feed.h"
#include "top/top_screen.h"
#include "top/top_view.h"

/* A signal that ends the program has come. */
static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

/* The live display. */
struct live {
	struct top_feed *feed;
	struct top_model model;
	struct top_look look;
	/* The last sample that came while the display was paused; NULL:
	 * none. */
	struct top_sample *held;
};

/* Draws a page as large as the terminal is now, which may change at any
 * time. */
static void show(struct live *l)
{
	struct top_page *p;
	int columns, rows;

	top_screen_size(&columns, &rows);
	p = top_view_page(&l->model, &l->look, columns, rows);
	if (p)
		top_screen_show(p);
	top_page_free(p);
}

/* The server that is shown next: all (-1), the first, …, the last, all. */
static int turn(const struct live *l, int by)
{
	int n = (int)l->model.nservers, at = l->look.server + by;

	return at < -1 ? n - 1 : at >= n ? -1 : at;
}

/* The rows change all the time, so the display stops while one is read. */
static void show_details(struct live *l, bool on)
{
	l->look.details = l->look.paused = on;
}

/* Shows the next section alone, or all of them. */
static void show_section(struct live *l, int by)
{
	l->look.shown =
	    (enum top_shown)(((int)l->look.shown + by + TOP_SHOWN) % TOP_SHOWN);
	l->look.row = l->look.order = 0;
	if (l->look.details)
		show_details(l, false);
}

/* Sorts the one section that is shown by its next order, or else the servers.
 * The row that somebody reads stays where it is. */
static void sort_next(struct live *l)
{
	unsigned n = top_view_orders(l->look.shown);

	if (n > 0) {
		l->look.order = (l->look.order + 1) % n;
		l->look.row = 0;
	} else {
		l->look.sort = (l->look.sort + 1) % TOP_SORTS;
	}
}

/* Moves the cursor within the rows that were drawn last. */
static void move(struct live *l, enum top_key key)
{
	int columns, rows;
	size_t page, last = l->look.rows > 0 ? l->look.rows - 1 : 0;
	size_t *row = &l->look.row;

	top_screen_size(&columns, &rows);
	page = rows > 2 ? (size_t)rows / 2 : 1;
	switch (key) {
	case TOP_KEY_DOWN:
		*row += *row < last;
		break;
	case TOP_KEY_UP:
		*row -= *row > 0;
		break;
	case TOP_KEY_PAGE_DOWN:
		*row = last - *row > page ? *row + page : last;
		break;
	case TOP_KEY_PAGE_UP:
		*row -= *row < page ? *row : page;
		break;
	default:
		*row = key == TOP_KEY_HOME ? 0 : last;
		break;
	}
}

/* Takes the last character off the filter. */
static void erase_last(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[--n] & 0xc0) == 0x80)
		;
	text[n] = '\0';
}

/* Takes a key while the filter is typed: every letter belongs to that. */
static void type(struct live *l, enum top_key key, char byte)
{
	char *filter = l->look.filter;
	size_t n = strlen(filter);

	/* A character's first byte needs room for the others. */
	if (byte && n + (((unsigned char)byte & 0xc0) == 0xc0 ? 4 : 1) <
			TOP_FILTER_BYTES) {
		filter[n] = byte;
		filter[n + 1] = '\0';
	} else if (key == TOP_KEY_ERASE) {
		erase_last(filter);
	} else if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
		l->look.typing = false;
	}
	if (key == TOP_KEY_ESCAPE)
		*filter = '\0';
}

/* One step back: from help, from details, from a filter, from a section. */
static void go_back(struct live *l)
{
	if (l->look.help)
		l->look.help = false;
	else if (l->look.details)
		show_details(l, false);
	else if (*l->look.filter)
		*l->look.filter = '\0';
	else
		show_section(l, -(int)l->look.shown);
}

/* Does as a key says that is about the whole page; false for any other. */
static bool press_page(struct live *l, enum top_key key)
{
	switch (key) {
	case TOP_KEY_SORT:
		if (!l->look.details)
			sort_next(l);
		return true;
	case TOP_KEY_PAUSE:
		l->look.paused = !l->look.paused;
		return true;
	case TOP_KEY_RIGHT:
		l->look.server = turn(l, 1);
		return true;
	case TOP_KEY_LEFT:
		l->look.server = turn(l, -1);
		return true;
	case TOP_KEY_HELP:
		l->look.help = !l->look.help;
		return true;
	case TOP_KEY_WIDE:
		l->look.wide = !l->look.wide;
		return true;
	default:
		return false;
	}
}

/* Does as a key says that is about sections and their rows. */
static void press_section(struct live *l, enum top_key key)
{
	bool alone = l->look.shown != TOP_ALL;

	if (key == TOP_KEY_SECTION || key == TOP_KEY_FORMER_SECTION)
		show_section(l, key == TOP_KEY_SECTION ? 1 : -1);
	else if (key == TOP_KEY_FILTER)
		l->look.typing = true;
	else if (key == TOP_KEY_ESCAPE)
		go_back(l);
	else if (key == TOP_KEY_ENTER && alone)
		show_details(l, !l->look.details);
	else if (key >= TOP_KEY_DOWN && key <= TOP_KEY_END && alone)
		move(l, key);
	else if (key == TOP_KEY_DOWN || key == TOP_KEY_UP)
		l->look.server = turn(l, key == TOP_KEY_DOWN ? 1 : -1);
}

/* Does as a key says. False: the program is to end. */
static bool press(struct live *l, enum top_key key, char byte)
{
	if (key == TOP_KEY_QUIT && !(l->look.typing && byte))
		return false;
	if (l->look.typing)
		type(l, key, byte);
	else if (!press_page(l, key))
		press_section(l, key);
	return true;
}

/* Takes the newest sample. While the display is paused it only waits, and is
 * shown when the pause ends. */
static void take(struct live *l)
{
	struct top_sample *s = top_feed_take(l->feed);

	if (s && l->look.paused) {
		top_sample_free(l->held);
		l->held = s;
	} else if (s) {
		top_sample_free(l->held);
		l->held = NULL;
		top_model_update(&l->model, s);
	}
	if (!l->look.paused && l->held) {
		top_model_update(&l->model, l->held);
		l->held = NULL;
	}
}

/* Takes all keys that were pressed. False: the program is to end. */
static bool read_keys(struct live *l)
{
	enum top_key key;
	char byte;

	while ((key = top_screen_key(&byte)) != TOP_KEY_NONE)
		if (!press(l, key, byte))
			return false;
	return true;
}

/* Draws after each sample and each key. If the daemon is away before anything
 * was shown, no server can be chosen any more. */
static void run_screen(struct live *l)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = top_feed_fd(l->feed), .events = POLLIN}};

	do {
		show(l);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		/* The terminal is gone. */
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return;
		if (fds[1].revents & POLLIN)
			take(l);
		if (l->model.away && !l->model.sample && l->look.server >= 0)
			l->look.server = -1;
	} while (!ended && !l->model.fatal && read_keys(l));
}

/* The terminal has to be put in order before the program ends; SIGHUP comes
 * when it is closed. */
static void catch_ends(void)
{
	const struct sigaction sa = {.sa_handler = on_signal};

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
}

bool top_live_run(const struct ctl_options *opt, struct top_sample *first,
    double interval_s, char why[TOP_LIVE_WHY])
{
	struct live l = {
	    .look = {.server = -1, .keys = true, .interval_s = interval_s}};

	*why = '\0';
	top_model_update(&l.model, first);
	l.feed = top_feed_new(opt->socket, opt->server, interval_s, TOP_PAST);
	if (!l.feed)
		snprintf(why, TOP_LIVE_WHY, "%s", strerror(errno));
	if (l.feed)
		catch_ends();
	if (l.feed && !top_screen_open())
		snprintf(why, TOP_LIVE_WHY,
		    "this terminal cannot show it (TERM is unknown); use "
		    "forefetch top --once, or pipe it through cat");
	if (!*why) {
		run_screen(&l);
		top_screen_close();
	}
	if (l.model.fatal)
		snprintf(why, TOP_LIVE_WHY,
		    "forefetchd: %s; see forefetch status", l.model.why);
	if (l.feed)
		top_feed_free(l.feed);
	top_sample_free(l.held);
	top_model_clear(&l.model);
	return !*why;
}
