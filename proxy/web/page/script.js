// SPDX-License-Identifier: GPL-2.0-or-later
// Asks for what there is every ten seconds, and shows it. All of it comes as
// text, and goes into the page as text.
"use strict";

const EVERY_MS = 10000, TREES_EVERY = 3;
const FLAT_MAX = 24; // so many lines from the middle are still a shape
const $ = id => document.getElementById(id);
let chosen = decodeURIComponent(location.hash.slice(1)), tree = "", rounds = 0, last = 0;
let trees = null, timer = 0;

const charts = {
	calls: new Chart($("calls"), {
		title: "Calls of clients per minute",
		about: "Calls that a cache could answer: answered from it, or passed on to the server.",
		series: [{key: "misses", label: "passed on", color: "orange"},
			{key: "hits", label: "from caches", color: "blue"}],
		format: v => v >= 10000 ? trim(v / 1000) + "k" : trim(v),
		read: (b, when) => when + ": " + count(b.hits) + " from caches, " + count(b.misses) +
			" passed on (" + percent(b.hits, b.hits + b.misses) + " hits)"}),
	time: new Chart($("time"), {
		title: "Time that calls took, per minute",
		about: "Saved: for each call that did not go to the server, the idle round trip, or what " +
			"calls that were passed on took, if that is less. Clients with several calls at a " +
			"time would have waited less.",
		series: [{key: "waited", label: "waited", color: "orange"},
			{key: "saved", label: "saved", color: "blue"}],
		format: axisSeconds, units: [1e-6, 1e-3, 1, 60, 3600],
		read: (b, when) => when + ": " + seconds(b.waited) + " waited, " + seconds(b.saved) +
			" saved"}),
	bytes: new Chart($("bytes"), {
		title: "Bytes from the server per minute",
		about: "Unused: fetched ahead, and not wanted within ten seconds. They may be used later.",
		series: [{key: "demand_bytes", label: "asked for", color: "orange"},
			{key: "useful_bytes", label: "fetched ahead", color: "blue"},
			{key: "unused_bytes", label: "unused", color: "red"}],
		format: bytes, units: [1, 1024, 1048576, 1073741824],
		read: (b, when) => when + ": " + bytes(b.demand_bytes) + " asked for, " +
			bytes(b.useful_bytes) + " fetched ahead, " + bytes(b.unused_bytes) + " unused"}),
	link: new Chart($("link"), {
		title: "Round trip to the server",
		about: "",
		lines: true,
		series: [{key: "round_trip", label: "now", kind: "line", mark: "stroke"},
			{key: "idle_round_trip", label: "idle link", kind: "idle", mark: "dash"}],
		format: axisSeconds, units: [1e-6, 1e-3, 1],
		read: (b, when) => b.round_trip ? when + ": " + seconds(b.round_trip) + ", idle " +
			seconds(b.idle_round_trip) + (b.bytes_per_second ? "; " + bits(b.bytes_per_second) : "") +
			"; " + percent(b.lost, b.segments) + " lost, " + plural(b.resent, "call") + " sent again"
			: when + ": not known"}),
};

// ---- the last hour

const SUMS = ["waited", "saved", "calls", "hits", "misses", "demand_bytes", "ahead_bytes",
	"unused_bytes", "used", "late", "unused", "resent", "segments", "lost"];
const MEANS = ["round_trip", "idle_round_trip", "bytes_per_second"];

// A bin for each minute, the oldest first.
function binned(history) {
	const at = Object.fromEntries(history.columns.map((name, i) => [name, i]));
	const bins = Array.from({length: BINS}, () => {
		const bin = {known: 0, up: 0};
		for (const key of SUMS.concat(MEANS))
			bin[key] = 0;
		return bin;
	});
	for (const s of history.samples) {
		const bin = bins[BINS - 1 - Math.floor(s[at.age] / 60)];
		if (!bin)
			continue;
		bin.known++;
		bin.up += s[at.up];
		for (const key of SUMS)
			bin[key] += s[at[key]];
		for (const key of MEANS)
			bin[key] += s[at[key]];
	}
	for (const bin of bins) {
		for (const key of MEANS.concat("up"))
			bin[key] /= bin.known || 1;
		bin.useful_bytes = Math.max(0, bin.ahead_bytes - bin.unused_bytes);
	}
	return bins;
}

function table(bins) {
	const rows = [["minutes ago", "from caches", "passed on", "waited", "saved", "asked for",
		"ahead", "unused", "round trip"]];
	bins.forEach((b, i) => {
		if (b.known)
			rows.push([BINS - 1 - i, count(b.hits), count(b.misses), seconds(b.waited),
				seconds(b.saved), bytes(b.demand_bytes), bytes(b.ahead_bytes),
				bytes(b.unused_bytes), b.round_trip ? seconds(b.round_trip) : "–"]);
	});
	$("table").replaceChildren(...rows.map((row, i) => {
		const tr = html("tr");
		for (const cell of row)
			html(i ? "td" : "th", "", String(cell), tr);
		return tr;
	}));
}

// ---- servers

const WORDS = {up: "up", idle: "idle: not connected until it is needed", connecting: "away",
	resolving: "away", down: "away"};

function isAway(s) {
	return s.state !== "up" && s.state !== "idle";
}

function stateText(s) {
	if (s.offline)
		return "away for " + seconds(s.state_age) + "; what is cached is served";
	if (isAway(s))
		return "away for " + seconds(s.state_age);
	return s.state === "up" ? "up for " + seconds(s.state_age) : WORDS[s.state];
}

function showServers(servers) {
	const focused = document.activeElement && document.activeElement.dataset.name;
	$("servers").replaceChildren(...servers.map(s => {
		const b = html("button", isAway(s) ? "away" : "up");
		b.type = "button";
		b.dataset.name = s.name;
		b.setAttribute("aria-pressed", String(s.name === chosen));
		html("strong", "", s.name, b).title = s.name;
		html("span", "word", (isAway(s) ? "✕ " : "✓ ") + stateText(s), b);
		html("span", "", s.hour && s.hour.calls ?
			percent(s.hour.hits, s.hour.hits + s.hour.misses) + " hits, " +
			seconds(s.hour.saved) + " saved" : "no calls in the last hour", b);
		b.addEventListener("click", () => choose(s.name));
		return b;
	}));
	for (const b of $("servers").children)
		if (b.dataset.name === focused)
			b.focus();
}

function tile(name, value, note) {
	const div = html("div");
	html("dt", "", name, div);
	html("dd", "", value, div);
	html("dd", "note", note, div);
	return div;
}

function farmText(farm) {
	return !farm ? "" : "Farm " + (farm.id ? farm.id + ": " : "") + farm.state +
		(farm.state === "up" && farm.round_trip !== null ? ", " + seconds(farm.round_trip) : "") +
		(farm.error ? " (" + farm.error + ")" : "") + ". ";
}

function showServer(s) {
	const h = s.hour, fetched = h.used + h.late + h.unused;
	$("name").textContent = s.name;
	$("state").textContent = s.address + ", " + stateText(s) + (s.reason ? ": " + s.reason : "") +
		". Consistency " + s.consistency + ", prefetch " + s.prefetch +
		({paused: ", paused", metered: ", held back: the link is metered"}[s.held] || "") + "." +
		(s.disk_problem ? " The cache's disk is not used: " + s.disk_problem : "");
	$("tiles").replaceChildren(
		tile("Hits", percent(h.hits, h.hits + h.misses), count(h.hits) + " of " +
			count(h.hits + h.misses) + " calls"),
		tile("Time saved", seconds(h.saved), seconds(h.waited) + " waited, " +
			seconds(h.added) + " of that added by forefetchd"),
		tile("Fetched ahead", bytes(h.ahead_bytes), bytes(h.demand_bytes) + " asked for"),
		tile("Unused", bytes(h.unused_bytes), fetched + h.refused ?
			count(h.unused) + " of " + count(fetched) + " objects, " +
			plural(h.refused, "call") + " refused" : "nothing was fetched ahead"),
		tile("Round trip", s.round_trip === null ? "–" : seconds(s.round_trip),
			s.idle_round_trip === null ? "not known yet" : seconds(s.idle_round_trip) + " when idle"),
		...(s.farm_bytes === undefined ? [] :
			[tile("From the farm", bytes(s.farm_bytes), "not over the link, since the start")]),
		tile("Link", s.bytes_per_second ? bits(s.bytes_per_second) : "–",
			(h.segments ? percent(h.lost, h.segments) : "0\u202f%") + " lost, " +
			plural(h.resent, "call") + " sent again"),
		tile("Clients", count(s.clients), plural(s.in_flight, "call") + " under way"),
		tile("Cache", bytes(s.disk_bytes), "of " + bytes(s.disk_limit_bytes) + " on disk"));
	$("empty").hidden = h.calls > 0;
	$("charts").hidden = $("trees").hidden = h.calls === 0 && !(trees && trees.trees.length);
	$("server").hidden = false;
}

// ---- access trees

const OUTCOMES = [
	["u", "fetched ahead, and used"],
	["l", "fetched ahead, but still on its way when it was asked for"],
	["v", "fetched ahead, not used"],
	["r", "fetched ahead, not used yet"],
	["c", "was cached already"],
	["-", "not predicted lately"],
];

function mark(letter, x, y, r, parent) {
	if (letter === "v") {
		const d = Math.max(3, r);
		return node("path", {class: "node node-v", d: `M${x - d} ${y - d}L${x + d} ${y + d}` +
			`M${x - d} ${y + d}L${x + d} ${y - d}`}, parent);
	}
	return node("circle", {class: "node node-" + (letter === "-" ? "none" : letter),
		cx: x, cy: y, r: r}, parent);
}

// Where nothing hangs on anything else, lines would all be alike, and hide the marks: a
// spiral from the middle, in order, with the same room for each.
function spiral(rest) {
	return rest.map((n, i) => ({angle: 2 * Math.sqrt(Math.PI * i),
		ring: 0.1 + 0.9 * Math.sqrt((i + 1) / rest.length), up: -1, alone: true}));
}

// Angles by leaves, in order; what has others below it is nearer to the middle.
function places(nodes) {
	const rest = nodes.slice(1);
	if (rest.length > FLAT_MAX && rest.every(n => n[0] === 1))
		return spiral(rest);
	const leaves = rest.filter((n, i) => !(rest[i + 1] && rest[i + 1][0] > n[0])).length || 1;
	let leaf = 0;
	const found = rest.map((n, i) => {
		const parent = rest[i + 1] && rest[i + 1][0] > n[0];
		const at = {angle: 2 * Math.PI * leaf / leaves, ring: parent ? 0.55 : 1, up: -1};
		if (!parent)
			leaf++;
		return at;
	});
	let up = -1, first = 0;
	rest.forEach((n, i) => {
		if (n[0] === 1) {
			up = i;
			return;
		}
		found[i].up = up;
		if (i === up + 1)
			first = found[i].angle;
		if (up >= 0) // in the middle of its own
			found[up].angle = (first + found[i].angle) / 2;
	});
	return found;
}

function drawTree(t) {
	const SIZE = 420, MID = SIZE / 2, RING = MID - 26;
	const svg = node("svg", {viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", tabindex: 0,
		"aria-label": describeTree(t)});
	const at = places(t.nodes);
	const xy = p => [MID + RING * p.ring * Math.sin(p.angle), MID - RING * p.ring * Math.cos(p.angle)];
	at.filter(p => !p.alone).forEach(p => {
		const [x, y] = xy(p), [x0, y0] = p.up < 0 ?
			xy({angle: p.angle, ring: 0.1}) : xy(at[p.up]);
		node("line", {class: p.up < 0 ? "edge" : "edge deep", x1: x0, y1: y0, x2: x, y2: y}, svg);
	});
	const small = at.length > 120 ? 2 : 3.2;
	const marks = at.map((p, i) => {
		const n = t.nodes[i + 1], [x, y] = xy(p);
		return mark(n[1], x, y, small + Math.min(5, Math.sqrt(n[2]) / 40), svg);
	});
	node("circle", {class: "node-root", cx: MID, cy: MID, r: 9}, svg);
	readTree(svg, t, marks);
	$("tree").replaceChildren(svg);
}

function describeNode(t, i) {
	const n = t.nodes[i + 1], what = OUTCOMES.find(o => o[0] === n[1])[1];
	return "Object " + (i + 1) + " of " + (t.nodes.length - 1) + ": " + what +
		(n[2] ? ", " + bytes(n[2]) : "") +
		(n[3] > 0 ? ", predicted with probability " + n[3].toFixed(2) : "");
}

function describeTree(t) {
	return kind(t) + " with " + count(t.objects) + " objects" + (t.more ? ", of which the first " +
		(t.nodes.length - 1) + " are shown" : "");
}

// Values by pointer and by arrow keys.
function readTree(svg, t, marks) {
	let at = -1;
	const go = i => {
		if (marks[at])
			marks[at].classList.remove("at");
		at = i;
		if (marks[at])
			marks[at].classList.add("at");
		$("tree-value").textContent = marks[at] ? describeNode(t, at) : describeTree(t);
	};
	marks.forEach((m, i) => m.addEventListener("pointerenter", () => go(i)));
	svg.addEventListener("pointerleave", () => go(-1));
	svg.addEventListener("keydown", e => {
		if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
			e.preventDefault();
			go((at + (e.key === "ArrowRight" ? 1 : -1) + marks.length) % marks.length);
		}
	});
	go(-1);
}

function kind(t) {
	return {program: "Program", run: "Run of files", session: "Session"}[t.kind];
}

// What is shown unless somebody chose: the largest program.
function weight(t) {
	return t.nodes.length * (t.kind === "program" ? 1000 : 1);
}

function showTrees() {
	const list = trees.trees;
	if (list.length === 0) {
		$("tree-list").textContent = "Nothing has been learned yet.";
		$("tree").replaceChildren();
		$("tree-legend").replaceChildren();
		$("tree-value").textContent = "";
		return;
	}
	const t = list.find(x => x.tag === tree) || list.reduce((a, b) =>
		weight(b) > weight(a) ? b : a);
	const focused = document.activeElement && document.activeElement.dataset.tag;
	$("tree-list").replaceChildren(...list.map(x => {
		const b = html("button", "", kind(x) + ", " + count(x.objects) + " objects, used " +
			(x.uses === 1 ? "once" : count(x.uses) + " times"));
		b.type = "button";
		b.dataset.tag = x.tag;
		b.setAttribute("aria-pressed", String(x === t));
		b.addEventListener("click", () => {
			tree = x.tag;
			showTrees();
		});
		return b;
	}));
	for (const b of $("tree-list").children)
		if (b.dataset.tag === focused)
			b.focus();
	const counts = {};
	for (const n of t.nodes.slice(1))
		counts[n[1]] = (counts[n[1]] || 0) + 1;
	$("tree-legend").replaceChildren(...OUTCOMES.map(([letter, text]) => {
		const li = html("li");
		const svg = node("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"}, li);
		mark(letter, 8, 8, 4.5, svg);
		html("b", "", count(counts[letter] || 0), li);
		html("span", "", text, li);
		return li;
	}));
	if (!$("tree").contains(document.activeElement))
		drawTree(t);
}

// ---- asking

async function get(path) {
	const res = await fetch(path, {cache: "no-store"});
	if (!res.ok)
		throw new Error(await res.text());
	return res.json();
}

function problem(text, stale) {
	$("problem").textContent = text;
	$("problem").hidden = !text;
	document.body.classList.toggle("stale", Boolean(stale));
}

async function look(wantTrees) {
	const all = await get("api/servers");
	last = Date.now();
	const away = all.servers.filter(isAway).length;
	$("daemon").textContent = "Version " + all.version + ", started " + seconds(all.uptime) + " ago. " +
		farmText(all.farm) +
		(all.servers.length === 1 ? "1 server" : all.servers.length + " servers") +
		(away ? ", " + away + " away." : ".");
	document.title = (away ? "✕ " : "") + "forefetch";
	problem(all.reload_error ? "The configuration was not applied: " + all.reload_error
		: all.reload_restart ? "A restart of forefetchd is needed for " + all.reload_restart + "."
		: all.servers.length ? "" : "There are no servers in the configuration; " +
			"forefetch mount SERVER:/PATH /WHERE adds one.", false);
	if (!all.servers.some(s => s.name === chosen))
		chosen = all.servers.length ? all.servers[0].name : "";
	showServers(all.servers);
	const server = all.servers.find(s => s.name === chosen);
	if (!server) {
		$("server").hidden = true;
		return;
	}
	const name = encodeURIComponent(server.name);
	const history = await get("api/history/" + name);
	const found = wantTrees || !trees ? await get("api/trees/" + name) : trees;
	if (server.name !== chosen) // somebody chose another one meanwhile
		return;
	trees = found;
	showServer(server);
	const bins = binned(history);
	for (const key in charts)
		charts[key].set(bins);
	table(bins);
	showTrees();
	$("updated").textContent = "Updated at " + new Date(last).toLocaleTimeString() +
		", and every " + seconds(EVERY_MS / 1000) + ".";
}

async function round(wantTrees) {
	clearTimeout(timer);
	const asked = chosen;
	try {
		if (!document.hidden)
			await look(wantTrees || rounds++ % TREES_EVERY === 0);
	} catch (e) {
		problem(e instanceof TypeError ? "forefetchd does not answer" + (last ?
			"; this was the state at " + new Date(last).toLocaleTimeString() : "") + "."
			: String(e.message || e), true);
	}
	clearTimeout(timer);
	timer = setTimeout(round, asked === chosen || !asked ? EVERY_MS : 0);
}

function choose(name) {
	chosen = name;
	tree = "";
	trees = null;
	history.replaceState(null, "", "#" + encodeURIComponent(name));
	round(true);
}

document.addEventListener("visibilitychange", () => {
	if (!document.hidden)
		round(true);
});
round(true);
