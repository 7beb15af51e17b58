/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one server section has done since the daemon started: calls by
 * procedure on both sides, single counters, and gauges. Nothing here allocates,
 * locks or reads a clock of its own except metrics_new.
 */
#ifndef FOREFETCH_METRICS_H
#define FOREFETCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct histogram;

struct metrics;

enum metrics_side {
	METRICS_CLIENT,   /* calls that clients made to the proxy */
	METRICS_UPSTREAM, /* calls that the proxy made to the server */
	METRICS_SIDES
};

/* One in so many calls that are answered at once is timed. */
enum { METRICS_SAMPLE = 8 };

/* One call that was answered, as its side saw it. */
struct metrics_call {
	uint64_t bytes_in;   /* received: from the client, or the server */
	uint64_t bytes_out;  /* sent: to the client, or the server */
	uint64_t latency_us; /* from the call to its reply */
	bool error;          /* an RPC error or a status other than OK */
	/*
	 * Of a call that came at `since_us` and is answered at once; NULL
	 * else. Reading the clock costs a part of what such an answer does, so
	 * only one in METRICS_SAMPLE of a row is timed, and stands for those
	 * that follow it.
	 */
	uint64_t (*clock)(void);
	uint64_t since_us;
};

/*
 * All single counters: a name in C, the name that users meet, one line of
 * help. A counter is added by adding a row.
 */
#define METRICS_COUNTERS(X)                                                    \
	X(CONNECTIONS_ACCEPTED, "connections_accepted",                        \
	    "Client connections accepted")                                     \
	X(CONNECTIONS_REFUSED_ALLOW, "connections_refused_allow",              \
	    "Connections refused: address outside of allow")                   \
	X(CONNECTIONS_REFUSED_SECURE, "connections_refused_secure",            \
	    "Connections refused: source port not below 1024")                 \
	X(CONNECTIONS_REFUSED_LIMIT, "connections_refused_limit",              \
	    "Connections refused: too many are open")                          \
	X(CONNECTIONS_CLOSED_BAD_RECORD, "connections_closed_bad_record",      \
	    "Connections closed: malformed or oversized record")               \
	X(CONNECTIONS_CLOSED_SLOW_RECORD, "connections_closed_slow_record",    \
	    "Connections closed: a record took too long to arrive")            \
	X(CONNECTIONS_CLOSED_SLOW_READER, "connections_closed_slow_reader",    \
	    "Connections closed: replies were not taken")                      \
	X(CONNECTIONS_CLOSED_IDLE, "connections_closed_idle",                  \
	    "Connections closed: idle, in favour of new ones")                 \
	X(CONNECTIONS_CLOSED_ASK_AGAIN, "connections_closed_ask_again",        \
	    "Connections closed after an outage: for clients to ask again")    \
	X(RECORDS_BAD, "records_bad", "Records that held no RPC call")         \
	X(CALLS_BAD_RPCVERS, "calls_bad_rpcvers",                              \
	    "Calls refused: RPC version other than 2")                         \
	X(CALLS_BAD_AUTH, "calls_bad_auth",                                    \
	    "Calls refused: flavor other than AUTH_SYS, or bad credential")    \
	X(CALLS_PROG_UNAVAIL, "calls_prog_unavail",                            \
	    "Calls refused: program not served")                               \
	X(CALLS_PROG_MISMATCH, "calls_prog_mismatch",                          \
	    "Calls refused: version not served")                               \
	X(CALLS_PROC_UNAVAIL, "calls_proc_unavail",                            \
	    "Calls refused: no such procedure")                                \
	X(CALLS_GARBAGE_ARGS, "calls_garbage_args",                            \
	    "Calls refused: arguments that do not decode")                     \
	X(CALLS_JOINED, "calls_joined",                                        \
	    "Calls answered by a call that was in flight already")             \
	X(CALLS_BEHIND_CHANGE, "calls_behind_change",                          \
	    "Calls that waited for a change that their client had sent")       \
	X(DRC_HITS, "drc_hits",                                                \
	    "Repeated calls answered from the reply cache")                    \
	X(DRC_IN_PROGRESS_DROPPED, "drc_in_progress_dropped",                  \
	    "Repeated calls dropped: the first is still in progress")          \
	X(DRC_REATTACHED, "drc_reattached",                                    \
	    "Repeated calls from a new connection that took over the reply")   \
	X(DRC_RECOVERED, "drc_recovered",                                      \
	    "Reply cache entries found after a restart")                       \
	X(UPSTREAM_CONNECTS, "upstream_connects",                              \
	    "Connections made to the server")                                  \
	X(UPSTREAM_CONNECT_FAILURES, "upstream_connect_failures",              \
	    "Connections to the server that failed")                           \
	X(UPSTREAM_DISCONNECTS, "upstream_disconnects",                        \
	    "Connections to the server that were lost")                        \
	X(UPSTREAM_RESENT, "upstream_resent",                                  \
	    "Calls sent again after a connection was lost")                    \
	X(UPSTREAM_RESENT_OTHER_PORT, "upstream_resent_other_port",            \
	    "Calls sent again from another source port")                       \
	X(UPSTREAM_BAD_REPLIES, "upstream_bad_replies",                        \
	    "Replies of the server that do not decode")                        \
	X(UPSTREAM_UNKNOWN_XID, "upstream_unknown_xid",                        \
	    "Replies of the server that nothing waits for")                    \
	X(UPSTREAM_RPC_ERRORS, "upstream_rpc_errors",                          \
	    "Replies of the server that are RPC errors")                       \
	X(UPSTREAM_TIMEOUTS, "upstream_timeouts",                              \
	    "Calls that the server did not answer in time")                    \
	X(UPSTREAM_SEGMENTS, "upstream_segments",                              \
	    "TCP segments with data that were sent to the server")             \
	X(UPSTREAM_SEGMENTS_RESENT, "upstream_segments_resent",                \
	    "TCP segments to the server that were sent again, since they "     \
	    "were lost on their way")                                          \
	X(POSTCHECK_REPAIRED, "postcheck_repaired",                            \
	    "Changes in doubt found done, and not repeated")                   \
	X(POSTCHECK_LEFT, "postcheck_left",                                    \
	    "Changes in doubt answered by an error that may be untrue")        \
	X(CHANGES_HELD, "changes_held",                                        \
	    "Changes that waited over an outage, held until they are asked "   \
	    "for again")                                                       \
	X(CHANGES_DROPPED_DOUBTFUL, "changes_dropped_doubtful",                \
	    "Changes in doubt not repeated: their client never came back")     \
	X(CHANGES_DROPPED_UNSENT, "changes_dropped_unsent",                    \
	    "Changes dropped unsent: the client's connection closed")          \
	X(WRITES_CONFIRMED, "writes_confirmed",                                \
	    "WRITEs before which a file was confirmed, since its attributes "  \
	    "had been told from the cache")                                    \
	X(WRITES_REFUSED, "writes_refused",                                    \
	    "WRITEs refused: somebody else changed the file after its "        \
	    "attributes had been told from the cache")                         \
	X(READS_STOPPED, "reads_stopped",                                      \
	    "Times that reading from a client stopped for backpressure")       \
	X(ATTR_HITS, "attr_hits",                                              \
	    "Calls for attributes answered from the cache")                    \
	X(ATTR_MISSES, "attr_misses",                                          \
	    "Calls for attributes passed on to the server")                    \
	X(ATTR_EVICTED, "attr_evicted", "Objects given up for memory")         \
	X(NAME_HITS, "name_hits", "LOOKUP answered from the cache")            \
	X(NEGATIVE_HITS, "negative_hits",                                      \
	    "LOOKUP of absent names answered from the cache")                  \
	X(NAME_MISSES, "name_misses", "LOOKUP passed on")                      \
	X(NAME_EVICTED, "name_evicted", "Names given up for memory")           \
	X(ACCESS_HITS, "access_hits", "ACCESS answered from the cache")        \
	X(ACCESS_MISSES, "access_misses", "ACCESS passed on")                  \
	X(LIST_HITS, "list_hits",                                              \
	    "READDIR and READDIRPLUS answered from the cache")                 \
	X(LIST_MISSES, "list_misses", "READDIR and READDIRPLUS passed on")     \
	X(LIST_EVICTED, "list_evicted", "Listings given up for memory")        \
	X(ANSWER_HITS, "answer_hits",                                          \
	    "READLINK, GETACL, FSSTAT, FSINFO and PATHCONF answered from the " \
	    "cache")                                                           \
	X(ANSWER_MISSES, "answer_misses",                                      \
	    "READLINK, GETACL, FSSTAT, FSINFO and PATHCONF passed on")         \
	X(DATA_HITS, "data_hits", "READ answered from the cache")              \
	X(DATA_MISSES, "data_misses", "READ passed on")                        \
	X(READS_SPLIT, "reads_split",                                          \
	    "READ asked in pieces, since its reply is long for the link")      \
	X(READ_PIECES, "read_pieces",                                          \
	    "Calls sent for READ that is asked in pieces")                     \
	X(READS_WHOLE, "reads_whole",                                          \
	    "READ asked as a whole after all, since its pieces did not fit")   \
	X(DATA_WAITS, "data_waits",                                            \
	    "Times that a READ waited for the cache's disk")                   \
	X(DATA_HIT_BYTES, "data_hit_bytes", "Bytes found in the data cache")   \
	X(DATA_ADDED_BYTES, "data_added_bytes",                                \
	    "Bytes taken into the data cache")                                 \
	X(DATA_REFUSED_BYTES, "data_refused_bytes",                            \
	    "Bytes not taken: the queue to the disk was full")                 \
	X(DATA_COPIED_BYTES, "data_copied_bytes",                              \
	    "Bytes copied in memory on their way into the data cache")         \
	X(DATA_EVICTED, "data_evicted", "Extents given up for disk space")     \
	X(DATA_EVICTED_BYTES, "data_evicted_bytes",                            \
	    "Bytes given up for disk space")                                   \
	X(DATA_KEPT_BYTES, "data_kept_bytes",                                  \
	    "Bytes in use moved on when their segment was given up")           \
	X(DATA_UNUSED_BYTES, "data_unused_bytes",                              \
	    "Bytes fetched ahead and given up without a use")                  \
	X(DATA_VERIFIED, "data_verified", "Extents whose checksum was right")  \
	X(DATA_BAD, "data_bad",                                                \
	    "Extents that could not be read, or were wrong")                   \
	X(DATA_LATE, "data_late",                                              \
	    "READs that the disk left waiting, so that the server was asked")  \
	X(DATA_LOADED, "data_loaded", "Extents found at the start")            \
	X(LAYOUT_PASSES, "layout_passes",                                      \
	    "Times that data on disk was laid out in the order of its use")    \
	X(LAYOUT_MOVED_BYTES, "layout_moved_bytes",                            \
	    "Bytes of data on disk that were moved into the order of use")     \
	X(CONFIRMED, "confirmed",                                              \
	    "Cached objects that were asked for again and had not changed")    \
	X(CLOCKS_BACK, "clocks_back",                                          \
	    "File systems whose changes got earlier times than others before") \
	X(CONTRADICTED, "contradicted",                                        \
	    "Cached objects that were asked for again and had changed")        \
	X(ROUND_TRIPS_SAVED, "round_trips_saved",                              \
	    "Calls that were answered without one to the server")              \
	X(PREFETCH_PREDICTED, "prefetch_predicted",                            \
	    "Predictions that were looked at")                                 \
	X(PREFETCH_CALLS, "prefetch_calls", "Calls sent ahead of their use")   \
	X(PREFETCH_BYTES, "prefetch_bytes",                                    \
	    "Bytes of replies to calls sent ahead")                            \
	X(PREFETCH_ERRORS, "prefetch_errors",                                  \
	    "Calls sent ahead that the server refused")                        \
	X(PREFETCH_USED, "prefetch_used",                                      \
	    "Objects fetched ahead and there when they were wanted")           \
	X(PREFETCH_LATE, "prefetch_late",                                      \
	    "Objects fetched ahead and on their way when they were wanted")    \
	X(PREFETCH_UNUSED, "prefetch_unused",                                  \
	    "Objects fetched ahead and not wanted within ten seconds")         \
	X(PREFETCH_USED_BYTES, "prefetch_used_bytes",                          \
	    "Bytes fetched ahead for objects that were wanted")                \
	X(PREFETCH_UNUSED_BYTES, "prefetch_unused_bytes",                      \
	    "Bytes fetched ahead for objects that were not")                   \
	X(PREFETCH_FRESH, "prefetch_fresh",                                    \
	    "Predictions of what was there already")                           \
	X(PREFETCH_UNLIKELY, "prefetch_unlikely",                              \
	    "Predictions not worth their cost")                                \
	X(PREFETCH_WITHDRAWN, "prefetch_withdrawn",                            \
	    "Predictions that were taken back before they were asked for, "    \
	    "since what foresaw them broke off")                               \
	X(PREFETCH_OLD, "prefetch_old",                                        \
	    "Predictions whose time passed before the link had room")          \
	X(PREFETCH_UNKNOWN, "prefetch_unknown",                                \
	    "Predictions of objects whose handle is not known")                \
	X(PREFETCH_PUT_OFF, "prefetch_put_off",                                \
	    "Predictions that cost too much at first, and waited")             \
	X(PREFETCH_CROWDED, "prefetch_crowded",                                \
	    "Predictions dropped: too many wait")                              \
	X(PREFETCH_PAUSED, "prefetch_paused",                                  \
	    "Times that the server was too busy for calls ahead")              \
	X(PREFETCH_HELD, "prefetch_held",                                      \
	    "Predictions dropped, since calls ahead were paused or a metered " \
	    "link had carried its share")                                      \
	X(SESSIONS_RECORDED, "sessions_recorded",                              \
	    "Sessions whose use of files was recorded")                        \
	X(SESSIONS_REPLAYED, "sessions_replayed",                              \
	    "Sessions that former ones were replayed ahead of")                \
	X(SESSIONS_STOPPED, "sessions_stopped",                                \
	    "Replays given up, since a session went otherwise")                \
	X(SESSION_WANTED, "session_wanted",                                    \
	    "Objects that replays wanted ahead")                               \
	X(SESSION_USED, "session_used",                                        \
	    "Objects that replays wanted ahead, and that were used")           \
	X(SESSION_BYTES, "session_bytes",                                      \
	    "Bytes asked for that nothing but replays wanted")                 \
	X(PATTERN_TOLD, "pattern_told",                                        \
	    "Parts of files wanted by how they were being read")               \
	X(PATTERN_HITS, "pattern_hits",                                        \
	    "READ of parts of files that a pattern had foretold")              \
	X(PATTERN_BROKEN, "pattern_broken",                                    \
	    "Times that a file was not read on as it had been")                \
	X(MENTION_SCANS, "mention_scans",                                      \
	    "Pieces of data that were scanned for names of other files")       \
	X(MENTION_WANTED, "mention_wanted",                                    \
	    "Objects wanted ahead, since data that had come names them")       \
	X(MENTION_USED, "mention_used",                                        \
	    "Objects wanted since data names them, and used")                  \
	X(HINTS_TAKEN, "hints_taken", "Hints of what will be read")            \
	X(HINTS_USED, "hints_used", "Hints whose file was read there")         \
	X(HINTS_PASSED, "hints_passed",                                        \
	    "Hints dropped unread: the reader was beyond them")                \
	X(HINTS_UNUSED, "hints_unused", "Hints dropped unread after a minute") \
	X(HINTS_FAILED, "hints_failed",                                        \
	    "Hints of what is not there, refused, or no file")                 \
	X(WARM_CALLS, "warm_calls", "Calls sent for `forefetch warm`")         \
	X(WARM_BYTES, "warm_bytes",                                            \
	    "Bytes of replies to calls sent for `forefetch warm`")             \
	X(FARM_ASKED, "farm_asked", "Values that the farm was asked for")      \
	X(FARM_HITS, "farm_hits", "Pieces of files that came from the farm")   \
	X(FARM_LISTINGS, "farm_listings", "Listings that came from the farm")  \
	X(FARM_TREES, "farm_trees",                                            \
	    "Times that what other machines have learned was taken over")      \
	X(FARM_BYTES, "farm_bytes", "Bytes that came from the farm")           \
	X(FARM_BAD, "farm_bad",                                                \
	    "Values of the farm that were damaged, or sealed by another key")  \
	X(FARM_WAITED, "farm_waited",                                          \
	    "Values waited for, since another machine was fetching them")      \
	X(FARM_IN_VAIN, "farm_in_vain",                                        \
	    "Values that did not come from the machine that was fetching")     \
	X(FARM_PUBLISHED, "farm_published", "Values given to the farm")        \
	X(FARM_PUBLISHED_BYTES, "farm_published_bytes",                        \
	    "Bytes given to the farm")                                         \
	X(FARM_LEFT_OUT, "farm_left_out",                                      \
	    "Values not given to the farm, since too many waited")             \
	X(BYTES_COPIED, "bytes_copied", "Payload bytes copied in memory")      \
	X(BYTES_RETURNED, "bytes_returned", "Payload bytes sent to clients")   \
	X(LOOP_LONG_TURNS, "loop_long_turns",                                  \
	    "Turns of the event loop that took more than 20 ms")

#define METRICS_COUNTER_ENUM(id, name, help) METRICS_##id,
enum metrics_counter {
	METRICS_COUNTERS(METRICS_COUNTER_ENUM) METRICS_COUNTER_COUNT
};
#undef METRICS_COUNTER_ENUM

/*
 * All gauges: what is there now, as it was last set. As above.
 */
#define METRICS_GAUGES(X)                                                      \
	X(UP, "up", "Whether the server is connected to, and serves NFSv3")    \
	X(OFFLINE, "offline", "Whether what is cached is served unconfirmed")  \
	X(CALLS_IN_FLIGHT, "calls_in_flight",                                  \
	    "Calls of clients that are not answered yet")                      \
	X(CLIENTS, "clients", "Connections of clients that are open")          \
	X(CLIENTS_BYTES, "clients_bytes",                                      \
	    "Memory of calls and replies of this server's clients")            \
	X(CLIENTS_LIMIT_BYTES, "clients_limit_bytes",                          \
	    "Memory that calls and replies of all clients may take")           \
	X(ATTR_ENTRIES, "attr_entries", "Objects in memory")                   \
	X(NAME_ENTRIES, "name_entries", "Names in memory, absent ones too")    \
	X(OBJECT_BYTES, "object_bytes", "Memory of objects and names")         \
	X(ACCESS_ENTRIES, "access_entries",                                    \
	    "Rights in memory, one for each object and credential")            \
	X(ACCESS_BYTES, "access_bytes", "Memory of rights")                    \
	X(LIST_ENTRIES, "list_entries", "Listings in memory")                  \
	X(LIST_BYTES, "list_bytes", "Memory of listings")                      \
	X(ANSWER_ENTRIES, "answer_entries",                                    \
	    "Links, access control lists, FSSTAT, FSINFO and PATHCONF in "     \
	    "memory")                                                          \
	X(ANSWER_BYTES, "answer_bytes",                                        \
	    "Memory of links, access control lists and other answers")         \
	X(ENTRY_BYTES, "entry_bytes",                                          \
	    "Memory of a name and its object, on the average")                 \
	X(MEMORY_BYTES, "memory_bytes", "Memory of all caches")                \
	X(MEMORY_LIMIT_BYTES, "memory_limit_bytes",                            \
	    "This server's share of memory_size")                              \
	X(DATA_ON, "data_on", "1 where data is kept on disk, 0 where not")     \
	X(DATA_FILES, "data_files", "Files with data on disk")                 \
	X(DATA_EXTENTS, "data_extents", "Extents of data on disk")             \
	X(DATA_LIVE_BYTES, "data_live_bytes",                                  \
	    "Data on disk that can be found and used")                         \
	X(DATA_PINNED_BYTES, "data_pinned_bytes",                              \
	    "Data that is pinned, and not given up")                           \
	X(DATA_PENDING_BYTES, "data_pending_bytes",                            \
	    "Data on its way to the disk")                                     \
	X(DATA_DISK_BYTES, "data_disk_bytes",                                  \
	    "Disk space that cached data takes")                               \
	X(DATA_LIMIT_BYTES, "data_limit_bytes",                                \
	    "This server's share of cache_size")                               \
	X(DATA_MEMORY_BYTES, "data_memory_bytes",                              \
	    "Memory of the data cache's index, counted in memory_bytes too")   \
	X(RUN_BYTES, "run_bytes",                                              \
	    "Cached data that was read in the present run, each byte once")    \
	X(RUN_SEQUENTIAL_BYTES, "run_sequential_bytes",                        \
	    "Cached data read in the present run that lies behind what was "   \
	    "read before it")                                                  \
	X(RUN_RUNS, "run_runs",                                                \
	    "Runs on disk of the cached data that was read in the present "    \
	    "run")                                                             \
	X(LAYOUT_BYTES, "layout_bytes",                                        \
	    "Data that the last pass of the layout looked at")                 \
	X(LAYOUT_SEQUENTIAL_BYTES, "layout_sequential_bytes",                  \
	    "Data that lies in the order of use since the last pass of the "   \
	    "layout")                                                          \
	X(LAYOUT_RUNS, "layout_runs",                                          \
	    "Runs on disk of the data that the last pass of the layout "       \
	    "looked at")                                                       \
	X(LAYOUT_BEFORE_SEQUENTIAL_BYTES, "layout_before_sequential_bytes",    \
	    "Data that lay in the order of use before the last pass of the "   \
	    "layout")                                                          \
	X(LAYOUT_BEFORE_BYTES, "layout_before_bytes",                          \
	    "Data that there was before the last pass of the layout")          \
	X(LAYOUT_BEFORE_RUNS, "layout_before_runs",                            \
	    "Runs on disk of data before the last pass of the layout")         \
	X(LAYOUT_END, "layout_end",                                            \
	    "How the last pass ended: 0 done, 1 most was in order, 2 no "      \
	    "room, 3 the disk failed, 4 stopped")                              \
	X(PREFETCH_WANTS, "prefetch_wants",                                    \
	    "Predictions that wait to be fetched")                             \
	X(PREFETCH_FLIGHTS, "prefetch_flights", "Calls ahead under way")       \
	X(PREFETCH_FLIGHT_BYTES, "prefetch_flight_bytes",                      \
	    "Bytes that calls ahead under way will bring")                     \
	X(PREFETCH_FLIGHT_BYTES_MAX, "prefetch_flight_bytes_max",              \
	    "Most bytes that calls ahead ever had under way")                  \
	X(PREFETCH_WINDOW_BYTES, "prefetch_window_bytes",                      \
	    "Bytes that may be under way ahead")                               \
	X(PREFETCH_WASTE_BYTES, "prefetch_waste_bytes",                        \
	    "Bytes that came ahead and are not used, of the last minute")      \
	X(PREFETCH_WASTE_LIMIT_BYTES, "prefetch_waste_limit_bytes",            \
	    "Bytes that may be, as far as prefetch_waste goes")                \
	X(PAUSED, "paused", "1 while calls ahead are paused by a user")        \
	X(METERED, "metered", "1 while the link counts as metered")            \
	X(METERED_BYTES, "metered_bytes",                                      \
	    "Bytes sent ahead over a metered link in this hour")               \
	X(METERED_LIMIT_BYTES, "metered_limit_bytes",                          \
	    "Bytes that it may carry ahead in an hour")                        \
	X(LEARNED_BYTES, "learned_bytes", "Memory of what is learned")         \
	X(LEARNED_OBJECTS, "learned_objects", "Objects in what is learned")    \
	X(LINK_RATE, "link_rate", "Estimated rate of the link, in bytes/s")    \
	X(LINK_BASE_US, "link_base_us",                                        \
	    "Estimated round trip of the idle link, in microseconds")          \
	X(LINK_SRTT_US, "link_srtt_us",                                        \
	    "Smoothed round trip, in microseconds")                            \
	X(LINK_RTTVAR_US, "link_rttvar_us",                                    \
	    "Mean deviation of the round trip, in microseconds")               \
	X(LINK_QUEUE_US, "link_queue_us",                                      \
	    "Estimated delay in queues, in microseconds")                      \
	X(FARM_UP, "farm_up",                                                  \
	    "1 while the farm's engine takes and gives values; 0 where not, "  \
	    "or where there is no farm")                                       \
	X(FARM_SRTT_US, "farm_srtt_us",                                        \
	    "Smoothed round trip to the farm's engine, in microseconds")       \
	X(LOOP_LONGEST_TURN_US, "loop_longest_turn_us",                        \
	    "Longest turn of the event loop in the last seconds, in "          \
	    "microseconds")

#define METRICS_GAUGE_ENUM(id, name, help) METRICS_GAUGE_##id,
enum metrics_gauge { METRICS_GAUGES(METRICS_GAUGE_ENUM) METRICS_GAUGE_COUNT };
#undef METRICS_GAUGE_ENUM

/* NULL and errno without memory; about 240 KiB. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/*
 * Count one answered call. NFS (100003), MOUNT (100005) and NFSACL (100227),
 * all version 3, have a row for each procedure; anything else counts in the
 * row "other". Any `prog` and `proc` may be given.
 */
void metrics_add_call(struct metrics *m, enum metrics_side side, uint32_t prog,
    uint32_t proc, const struct metrics_call *call);

/* To be called before histograms are read: those that were not timed are put
 * in. */
void metrics_settle(struct metrics *m);

void metrics_add(struct metrics *m, enum metrics_counter counter, uint64_t n);
/* One that is counted elsewhere. */
void metrics_set(struct metrics *m, enum metrics_counter counter, uint64_t n);
uint64_t metrics_get(const struct metrics *m, enum metrics_counter counter);
const char *metrics_counter_name(enum metrics_counter counter);
const char *metrics_counter_help(enum metrics_counter counter);

void metrics_set_gauge(
    struct metrics *m, enum metrics_gauge gauge, uint64_t value);
uint64_t metrics_get_gauge(const struct metrics *m, enum metrics_gauge gauge);
const char *metrics_gauge_name(enum metrics_gauge gauge);
const char *metrics_gauge_help(enum metrics_gauge gauge);

/* One procedure on one side; `latency` is in microseconds. */
struct metrics_row {
	const char *program;   /* "nfs", "mount", "nfsacl", "other" */
	const char *procedure; /* "LOOKUP", ...; "other" */
	uint64_t calls;
	uint64_t errors;
	uint64_t bytes_in;
	uint64_t bytes_out;
	/* Of as many, after metrics_settle(); lives as long as the metrics. */
	const struct histogram *latency;
};

/* Rows are numbered from 0, the same ones on both sides. */
size_t metrics_row_count(void);
void metrics_get_row(const struct metrics *m, enum metrics_side side,
    size_t index, struct metrics_row *out);
const char *metrics_side_name(enum metrics_side side);

#endif
