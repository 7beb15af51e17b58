# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what a campaign keeps: whole, or refused and left as it was."""
import json
import os
import shutil
import unittest
from unittest import mock

import fakes
import parts
import state


class Kept(fakes.Case):
    def found(self, commit):
        return self.state.found("sweep", parts.Found("a", "said", "cmd", first=1), commit)

    def test_is_there_again(self):
        self.claimed().part("sweep")["tried"] = 7
        self.found("v1")
        self.state.save()
        again = state.State(self.folder)
        self.assertEqual(again.data, self.state.data)
        self.assertEqual(again.part("sweep")["tried"], 7)
        self.assertEqual(state.why_damaged(again.data), "")

    def test_since_is_the_first_commit(self):
        self.claimed()
        self.assertTrue(self.found("v1")[1])
        finding, new = self.found("v2")
        self.assertFalse(new)
        self.assertEqual((finding["since"]["commit"], finding["last"]["commit"],
                          finding["times"]), ("v1", "v2", 2))

    def test_what_was_mended_can_come_back(self):
        self.claimed()
        finding = self.found("v1")[0]
        self.state.mend(finding, "v2")
        self.assertEqual(self.state.open_findings(), [])
        self.assertTrue(self.found("v3")[1])
        self.assertEqual(self.state.open_findings("sweep"), [finding])

    def test_what_comes_back_is_tried_again_as_it_was_found_now(self):
        self.claimed()
        finding = self.found("v1")[0]
        self.state.found("sweep", parts.Found("a", "other", "cmd 2", first=2), "v2")
        self.assertEqual((finding["said"], finding["again"], finding["data"]),
                         ("said", "cmd", {"first": 1}))
        self.state.mend(finding, "v3")
        self.state.found("sweep", parts.Found("a", "other", "cmd 2", first=2), "v4")
        self.assertEqual((finding["said"], finding["again"], finding["data"]),
                         ("other", "cmd 2", {"first": 2}))
        self.assertEqual(finding["since"]["commit"], "v1")

    def test_a_failed_save_leaves_the_old_one(self):
        self.claimed()
        before = self.text(self.state.path)
        self.state.part("sweep")["tried"] = 9
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")):
            self.assertRaisesRegex(state.Refused, "No space.*make room", self.state.save)
        self.assertEqual(self.text(self.state.path), before)


class Refusals(fakes.Case):
    def refused(self, text, pattern):
        path = self.write("campaign/state.json", text)
        self.assertRaisesRegex(state.Refused, pattern, state.State, self.folder)
        self.assertEqual(self.text(path), text)

    def changed(self, change):
        """A state that is whole but for `change`."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.claimed().part("sweep")
        self.state.found("sweep", parts.Found("a", "said", "cmd"), "v1")
        change(self.state.data)
        return json.dumps(self.state.data)

    def test_damaged(self):
        text = self.changed(lambda data: None)
        self.refused(text[:len(text) // 2], "no JSON.*move it away")
        self.refused("", "no JSON")
        self.refused("[1]", "no state of a campaign")
        self.refused('{"servers": []}', "no state of a campaign")

    def test_of_another_version(self):
        self.refused(self.changed(lambda d: d.update(format="forefetch campaign 9")),
                     "another version")

    def test_not_whole(self):
        self.refused(self.changed(lambda d: d.pop("findings")), "not whole")
        self.refused(self.changed(lambda d: d["parts"].update(sweep=[])), "part sweep")
        self.refused(self.changed(lambda d: d["parts"]["sweep"].update(tried="7")),
                     "part sweep")
        self.refused(self.changed(lambda d: d["findings"][0].update(since=None)),
                     "finding 0")
        self.refused(self.changed(lambda d: d["findings"][0].update(tried=7)), "finding 0")
        self.refused(self.changed(lambda d: d["findings"][0].update(took="7")), "finding 0")

    def test_folder_of_something_else(self):
        self.write("campaign/letter", "Dear")
        self.assertRaisesRegex(state.Refused, "has files", state.State, self.folder)
        self.assertEqual(os.listdir(self.folder), ["letter"])

    def test_two_in_one_folder(self):
        self.claimed()
        self.assertRaisesRegex(state.Refused, "another campaign runs",
                               state.State(self.folder).claim)

    def test_one_that_begins_as_another_ends(self):
        late = [state.State(self.folder)]
        self.claimed().part("sweep")["tried"] = 7
        late.append(state.State(self.folder))
        self.state.save()
        self.state.release()
        for one in late:
            one.claim()
            self.assertEqual(one.part("sweep")["tried"], 7)
            one.release()

    def test_folder_that_cannot_be_made(self):
        self.write("file", "")
        one = state.State(os.path.join(self.top, "file", "campaign"))
        self.assertRaisesRegex(state.Refused, "cannot be written to.*--dir", one.claim)

    def test_no_campaign_to_draw(self):
        self.assertRaisesRegex(state.Refused, "no campaign in", state.State, self.folder,
                               must_exist=True)
        self.assertFalse(os.path.exists(self.folder))


if __name__ == "__main__":
    unittest.main()
