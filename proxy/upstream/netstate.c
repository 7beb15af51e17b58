/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NetworkManager's property Metered, by sd-bus; see netstate.h. The bus's
 * descriptor and its timeout are events of the loop (watch_fd(), watch_time()),
 * so nothing here waits; whatever fails is tried again after RETRY_US. */
#include "upstream/netstate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef FF_SYSTEMD

#include <poll.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"

#define NM_NAME  "org.freedesktop.NetworkManager"
#define NM_PATH  "/org/freedesktop/NetworkManager"
#define NM_IFACE "org.freedesktop.NetworkManager"
#define PROPS    "org.freedesktop.DBus.Properties"

enum {
	ASK_MAX_US = 5000000, /* that an answer may take */
	PAUSE_US = 1000000,   /* between two questions */
	RETRY_US = 10000000,  /* after a failure */
	MESSAGES = 16,        /* in one turn of the loop */
	MORE_US = 1000,       /* pause before the next ones */
	METERED_YES = 1,      /* NMMetered */
	METERED_GUESS_YES = 3,
};

struct netstate {
	struct event_base *base;
	netstate_cb cb;
	void *arg;
	sd_bus *bus;           /* NULL: to be opened by `ev_again` */
	sd_bus_slot *question; /* NULL: none is under way */
	struct event *ev_fd;   /* of `bus`, with what it waits for now */
	short ev_fd_what;
	struct event *ev_timer; /* when `bus` wants to be called again */
	struct event *ev_again; /* for the next try, or question */
	bool stale;        /* something has changed since it was last asked */
	uint64_t asked_us; /* when that was; 0: never */
	bool metered;
};

static void bus_open(struct netstate *ns);

static void again_in(struct netstate *ns, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	event_add(ns->ev_again, &tv);
}

static void set_metered(struct netstate *ns, bool metered)
{
	if (metered == ns->metered)
		return;
	ns->metered = metered;
	log_info("netstate metered=%d: NetworkManager says so", metered);
	ns->cb(ns->arg, metered);
}

/* ---- asking ----------------------------------------------------------- */

/* Whether the answer says that NetworkManager does not run: no failure, and its
 * start will be signalled. */
static bool is_absent(const sd_bus_message *m)
{
	const sd_bus_error *e = sd_bus_message_get_error((sd_bus_message *)m);

	return sd_bus_error_has_name(e, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	       sd_bus_error_has_name(e, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

static int on_answer(sd_bus_message *m, void *arg, sd_bus_error *e)
{
	struct netstate *ns = arg;
	uint32_t value = 0;
	bool good = !sd_bus_message_is_method_error(m, NULL) &&
		    sd_bus_message_read(m, "v", "u", &value) >= 0;

	(void)e;
	ns->question = sd_bus_slot_unref(ns->question);
	if (ns->stale)
		again_in(ns, PAUSE_US);
	else if (!good && !is_absent(m))
		again_in(ns, RETRY_US);
	/* A NetworkManager that does not answer has not taken back what it
	 * said. */
	if (sd_bus_message_is_method_error(m, SD_BUS_ERROR_NO_REPLY) ||
	    sd_bus_message_is_method_error(m, SD_BUS_ERROR_TIMEOUT))
		log_debug("netstate: NetworkManager does not answer");
	else
		set_metered(ns, good && (value == METERED_YES ||
					    value == METERED_GUESS_YES));
	return 0;
}

static int send_question(struct netstate *ns)
{
	sd_bus_message *m = NULL;
	int rc = sd_bus_message_new_method_call(
	    ns->bus, &m, NM_NAME, NM_PATH, PROPS, "Get");

	/* D-Bus must not start NetworkManager for the sake of this question. */
	if (rc >= 0)
		rc = sd_bus_message_set_auto_start(m, 0);
	if (rc >= 0)
		rc = sd_bus_message_append(m, "ss", NM_IFACE, "Metered");
	if (rc >= 0)
		rc = sd_bus_call_async(
		    ns->bus, &ns->question, m, on_answer, ns, ASK_MAX_US);
	sd_bus_message_unref(m);
	return rc;
}

/* Asks now, or as soon as PAUSE_US have passed since the last question. */
static void ask(struct netstate *ns)
{
	uint64_t now_us = clock_now_us();
	int rc;

	ns->stale = true;
	if (ns->question)
		return;
	if (ns->asked_us != 0 && now_us < ns->asked_us + PAUSE_US) {
		again_in(ns, ns->asked_us + PAUSE_US - now_us);
		return;
	}
	ns->stale = false;
	ns->asked_us = now_us;
	rc = send_question(ns);
	if (rc >= 0)
		return;
	log_debug("netstate: cannot ask: %s", strerror(-rc));
	again_in(ns, RETRY_US);
}

static int on_signal(sd_bus_message *m, void *arg, sd_bus_error *e)
{
	(void)m;
	(void)e;
	ask(arg);
	return 0;
}

/* ---- the bus on the loop ---------------------------------------------- */

static void bus_close(struct netstate *ns)
{
	event_del(ns->ev_timer);
	if (ns->ev_fd)
		event_free(ns->ev_fd);
	ns->ev_fd = NULL;
	ns->question = sd_bus_slot_unref(ns->question);
	/* Closed without a flush, which would wait for the bus. */
	ns->bus = sd_bus_close_unref(ns->bus);
}

static void bus_failed(struct netstate *ns, int rc)
{
	log_debug("netstate: no D-Bus: %s", strerror(-rc));
	bus_close(ns);
	set_metered(ns, false);
	again_in(ns, RETRY_US);
}

static void on_bus(evutil_socket_t fd, short what, void *arg);

static int watch_fd(struct netstate *ns)
{
	int events = sd_bus_get_events(ns->bus);
	short what = EV_PERSIST;
	int fd = sd_bus_get_fd(ns->bus);

	if (events < 0 || fd < 0)
		return events < 0 ? events : fd;
	if (events & POLLIN)
		what |= EV_READ;
	if (events & POLLOUT)
		what |= EV_WRITE;
	if (ns->ev_fd && ns->ev_fd_what == what)
		return 0;
	if (ns->ev_fd)
		event_free(ns->ev_fd);
	ns->ev_fd_what = what;
	ns->ev_fd = event_new(ns->base, fd, what, on_bus, ns);
	return ns->ev_fd && event_add(ns->ev_fd, NULL) == 0 ? 0 : -ENOMEM;
}

/* Sets the timer by which the bus wants to be called again. Its times are those
 * of CLOCK_MONOTONIC. */
static int watch_time(struct netstate *ns)
{
	struct timeval tv;
	uint64_t due_us, now_us;
	int rc = sd_bus_get_timeout(ns->bus, &due_us);

	if (rc < 0)
		return rc;
	if (rc == 0 || due_us == UINT64_MAX) {
		event_del(ns->ev_timer);
		return 0;
	}
	now_us = clock_awake_us();
	tv = clock_timeval(due_us > now_us ? due_us - now_us : MORE_US);
	event_add(ns->ev_timer, &tv);
	return 0;
}

/* Reads what has come, at most MESSAGES in a turn of the loop, however many
 * somebody sends. */
static void bus_process(struct netstate *ns)
{
	int rc = 1;

	for (int i = 0; i < MESSAGES && rc > 0; i++)
		rc = sd_bus_process(ns->bus, NULL);
	if (rc >= 0)
		rc = watch_fd(ns);
	if (rc >= 0)
		rc = watch_time(ns);
	if (rc < 0)
		bus_failed(ns, rc);
}

static void on_bus(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	bus_process(arg);
}

/* Opens the bus and asks for both signals, without waiting for the bus to
 * agree: a match that it refuses ends the connection. */
static int bus_begin(struct netstate *ns)
{
	static const char *const matches[] = {
	    "type='signal',sender='" NM_NAME "',path='" NM_PATH
	    "',interface='" PROPS "',member='PropertiesChanged',arg0='" NM_IFACE
	    "'",
	    "type='signal',sender='org.freedesktop.DBus',"
	    "interface='org.freedesktop.DBus',member='NameOwnerChanged',"
	    "arg0='" NM_NAME "'",
	};
	int rc = sd_bus_open_system(&ns->bus);

	for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
		if (rc >= 0)
			rc = sd_bus_add_match_async(
			    ns->bus, NULL, matches[i], on_signal, NULL, ns);
	return rc;
}

static void bus_open(struct netstate *ns)
{
	int rc = bus_begin(ns);

	if (rc < 0) {
		bus_failed(ns, rc);
		return;
	}
	ask(ns);
	bus_process(ns);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct netstate *ns = arg;

	(void)fd;
	(void)what;
	if (!ns->bus) {
		bus_open(ns);
		return;
	}
	ask(ns);
	bus_process(ns);
}

/* ---- making one ------------------------------------------------------- */

bool netstate_metered(const struct netstate *ns)
{
	return ns && ns->metered;
}

struct netstate *netstate_new(
    struct event_base *base, netstate_cb cb, void *arg)
{
	struct netstate *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return NULL;
	ns->base = base;
	ns->cb = cb;
	ns->arg = arg;
	ns->ev_timer = evtimer_new(base, on_bus, ns);
	ns->ev_again = evtimer_new(base, on_again, ns);
	if (!ns->ev_timer || !ns->ev_again) {
		netstate_free(ns);
		errno = ENOMEM;
		return NULL;
	}
	bus_open(ns);
	return ns;
}

void netstate_free(struct netstate *ns)
{
	if (!ns)
		return;
	if (ns->ev_timer && ns->ev_again)
		bus_close(ns);
	if (ns->ev_timer)
		event_free(ns->ev_timer);
	if (ns->ev_again)
		event_free(ns->ev_again);
	free(ns);
}

#else

struct netstate *netstate_new(
    struct event_base *base, netstate_cb cb, void *arg)
{
	(void)base;
	(void)cb;
	(void)arg;
	errno = ENOSYS;
	return NULL;
}

void netstate_free(struct netstate *ns)
{
	(void)ns;
}

bool netstate_metered(const struct netstate *ns)
{
	(void)ns;
	return false;
}

#endif
