/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what a source foretells is wanted. */
#include "base/metrics.h"
#include "prefetch/sources/source_private.h"

/* Of the last twenty accesses or so; and of how many it is a known job. */
#define FAMILIAR_STEP 0.05f
#define FAMILIAR_MIN  0.7f

/* In the credential's pocket: the share of its last accesses that history had
 * foretold. */
static float *familiar_of(struct credential *cred)
{
	return credential_pocket(cred, CREDENTIAL_TREE, sizeof(float));
}

static bool is_familiar(struct credential *cred)
{
	const float *familiar = familiar_of(cred);

	return familiar && *familiar > FAMILIAR_MIN;
}

void sources_count_familiar(struct credential *cred, enum predictor_led led)
{
	float *familiar = familiar_of(cred);

	if (familiar && led != PREDICTOR_GOES_ON)
		*familiar +=
		    ((led == PREDICTOR_LED) - *familiar) * FAMILIAR_STEP;
}

bool sources_want(struct sources *all, struct credential *cred,
    const struct prediction *pred, uint64_t now_us)
{
	struct prediction wanted = *pred;
	float read = 1;
	bool guess = notes_source_guesses(pred->source);

	if (((pred->source == NOTE_FROM_MENTION ||
		 pred->source == NOTE_FROM_WALK) &&
		is_familiar(cred)) ||
	    notes_came_in_vain(notes_find(all->notes, pred->object), pred) ||
	    !worth_call(all->g, guess, (double)pred->p, CONFIRM_BYTES)) {
		notes_set(all->notes, pred->object, NOTE_UNLIKELY, now_us);
		metrics_add(all->g->metrics, METRICS_PREFETCH_UNLIKELY, 1);
		return false;
	}
	/* Whoever comes to a directory may read its listing, or look up names
	 * in it. A walk knows more of that. A want for a listing and nothing
	 * else is for names that can then be guessed: no client reads it. */
	if (guess && pred->source != NOTE_FROM_WALK &&
	    (pred->needs & PREDICTOR_NEEDS_LISTING))
		wanted.calls_spared = pred->needs == PREDICTOR_NEEDS_LISTING
					  ? source_habit_names(cred)
					  : source_habit_spares(cred);
	/* An object that is guessed from names may be looked up, and no more.
	 */
	if (pred->source == PREDICTOR_FROM_NAMES &&
	    (pred->needs & PREDICTOR_NEEDS_DATA))
		read = source_habit_reads(all, cred, pred->object);
	return want_add(all->queue, cred, &wanted, read, now_us) != NULL;
}
