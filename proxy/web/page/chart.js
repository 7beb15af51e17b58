// SPDX-License-Identifier: GPL-2.0-or-later
// Charts of the last hour: bars that are stacked, and lines; and what makes
// numbers readable. Each chart can be read with the keyboard, too.
"use strict";

function bytes(n) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let i = 0;
	while (n >= 1024 && i < units.length - 1) {
		n /= 1024;
		i++;
	}
	return trim(n) + "\u202f" + units[i];
}

function bits(n) {
	const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
	let i = 0;
	for (n *= 8; n >= 1000 && i < units.length - 1; i++)
		n /= 1000;
	return trim(n) + "\u202f" + units[i];
}

function seconds(s) {
	if (s === 0)
		return "0\u202fs";
	if (s < 0.001)
		return trim(s * 1e6) + "\u202fµs";
	if (s < 1)
		return trim(s * 1e3) + "\u202fms";
	if (s < 60)
		return trim(s) + "\u202fs";
	if (s < 3600)
		return Math.floor(s / 60) + "\u202fmin " + Math.floor(s % 60) + "\u202fs";
	if (s < 86400)
		return Math.floor(s / 3600) + "\u202fh " + Math.floor(s % 3600 / 60) + "\u202fmin";
	return Math.floor(s / 86400) + "\u202fd " + Math.floor(s % 86400 / 3600) + "\u202fh";
}

// Three digits that matter.
function trim(n) {
	if (n >= 100 || n === 0)
		return String(Math.round(n));
	return String(Number(n.toPrecision(n >= 10 ? 3 : 2)));
}

function count(n) {
	return Math.round(n).toLocaleString("en");
}

function plural(n, what) {
	return count(n) + " " + what + (n === 1 ? "" : "s");
}

function isAwayBin(bin) {
	return bin.known > 0 && bin.up < 0.5;
}

function percent(part, whole) {
	if (!whole)
		return "–";
	const p = 100 * part / whole;
	return (p > 99.9 && p < 100 ? "99.9" : trim(p)) + "\u202f%";
}

function node(name, attributes, parent, text) {
	const el = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const key in attributes)
		el.setAttribute(key, attributes[key]);
	if (text !== undefined)
		el.textContent = text;
	if (parent)
		parent.append(el);
	return el;
}

function html(name, className, text, parent) {
	const el = document.createElement(name);
	if (className)
		el.className = className;
	if (text !== undefined)
		el.textContent = text;
	if (parent)
		parent.append(el);
	return el;
}

// A mark of an axis, in one unit.
function axisSeconds(s) {
	if (s >= 60 && s < 120)
		return trim(s) + "\u202fs";
	if (s < 60)
		return seconds(s);
	return s < 7200 ? trim(s / 60) + "\u202fmin" : trim(s / 3600) + "\u202fh";
}

// The end of the axis, and its step: 1, 2 or 5 times a power of ten of a unit.
function nice(max, units) {
	if (!(max > 0))
		return {end: 1, step: 1};
	const rough = max / 3;
	const unit = (units || []).filter(u => u <= rough).pop() || 1;
	const ten = Math.pow(10, Math.floor(Math.log10(rough / unit)));
	const step = [1, 2, 5, 10].map(times => times * ten * unit).find(s => s >= rough * 0.999);
	return {end: Math.ceil(max / step - 1e-9) * step, step: step};
}

const HEIGHT = 168, TOP = 8, BOTTOM = 22, BINS = 60;

// A chart in a figure. `spec`: title, about, series [{key, label, color}] for
// bars or [{key, label, kind}] for lines, format and units of the axis, read(bin).
class Chart {
	constructor(figure, spec) {
		this.spec = spec;
		this.bins = [];
		this.at = -1;
		const caption = html("figcaption", "", undefined, figure);
		html("h3", "", spec.title, caption);
		for (const s of spec.series) {
			const key = html("span", "key", undefined, caption);
			html("span", spec.lines ? s.mark : "swatch " + s.color, undefined, key);
			key.append(s.label);
		}
		this.svg = node("svg", {height: HEIGHT, tabindex: 0, role: "img"}, figure);
		this.value = html("output", "", undefined, figure);
		this.value.setAttribute("aria-live", "polite");
		this.svg.addEventListener("pointermove", e => this.point(e));
		this.svg.addEventListener("pointerleave", () => this.move(-1));
		this.svg.addEventListener("keydown", e => this.key(e));
		this.svg.addEventListener("blur", () => this.move(-1));
		new ResizeObserver(() => this.draw()).observe(figure);
	}

	set(bins) {
		this.bins = bins;
		this.draw();
	}

	total(bin) {
		if (this.spec.lines)
			return Math.max(...this.spec.series.map(s => bin[s.key] || 0));
		return this.spec.series.reduce((sum, s) => sum + bin[s.key], 0);
	}

	// From the left edge of the oldest minute to the right of the last.
	x(i) {
		return this.left + (this.width - this.left) * i / BINS;
	}

	y(v) {
		return TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / this.scale.end);
	}

	draw() {
		const width = this.svg.clientWidth;
		if (width < 50 || this.bins.length === 0)
			return;
		this.width = width;
		this.scale = nice(Math.max(...this.bins.map(b => this.total(b))), this.spec.units);
		this.svg.replaceChildren();
		this.svg.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
		this.svg.setAttribute("aria-label", this.spec.title + ", last hour. " +
			this.spec.read(this.bins[BINS - 1], "the last minute"));
		this.axes();
		if (this.spec.lines)
			this.lines();
		else
			this.bars();
		this.cursor = node("line", {class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM,
			visibility: "hidden"}, this.svg);
		this.move(this.at);
	}

	axes() {
		const ticks = [];
		for (let v = 0; v <= this.scale.end + this.scale.step / 2; v += this.scale.step)
			ticks.push(v);
		this.left = 8 + Math.max(...ticks.map(v => this.spec.format(v).length)) * 6.4;
		for (const v of ticks) {
			node("line", {class: "axis", x1: this.left, x2: this.width,
				y1: this.y(v), y2: this.y(v)}, this.svg);
			node("text", {x: this.left - 5, y: this.y(v) + 4, "text-anchor": "end"},
				this.svg, this.spec.format(v));
		}
		const every = this.width < 560 ? 20 : 10;
		for (let minutes = 60; minutes >= 0; minutes -= every)
			node("text", {x: this.x(BINS - minutes), y: HEIGHT - 6,
				"text-anchor": minutes === 60 ? "start" : minutes ? "middle" : "end"},
				this.svg, minutes ? "−" + minutes + "\u202fmin" : "now");
	}

	away() {
		this.bins.forEach((bin, i) => {
			if (isAwayBin(bin))
				node("rect", {class: "away-band", x: this.x(i), y: TOP,
					width: this.x(1) - this.x(0), height: HEIGHT - TOP - BOTTOM}, this.svg);
		});
	}

	bars() {
		this.away();
		const wide = this.x(1) - this.x(0);
		this.bins.forEach((bin, i) => {
			let sum = 0;
			for (const s of this.spec.series) {
				const from = this.y(sum);
				sum += bin[s.key];
				if (bin[s.key] > 0)
					node("rect", {class: s.color, x: this.x(i) + wide * 0.1, y: this.y(sum),
						width: wide * 0.8, height: Math.max(0.5, from - this.y(sum))}, this.svg);
			}
		});
	}

	lines() {
		this.away();
		for (const s of this.spec.series) {
			let path = "", pen = false;
			this.bins.forEach((bin, i) => {
				const v = bin[s.key];
				if (v > 0)
					path += (pen ? "L" : "M") + this.x(i + 0.5).toFixed(1) + " " +
						this.y(v).toFixed(1) + (pen ? "" : "h0.01");
				pen = v > 0;
			});
			if (path)
				node("path", {class: s.kind, d: path}, this.svg);
		}
	}

	point(e) {
		const box = this.svg.getBoundingClientRect();
		const i = Math.floor((e.clientX - box.left - this.left) / (this.x(1) - this.x(0)));
		this.move(i >= 0 && i < BINS ? i : -1);
	}

	key(e) {
		const from = this.at < 0 ? BINS : this.at;
		const to = {ArrowLeft: from - 1, ArrowRight: this.at + 1, Home: 0, End: BINS - 1,
			Escape: -1}[e.key];
		if (to === undefined)
			return;
		e.preventDefault();
		this.move(e.key === "Escape" ? -1 : Math.min(BINS - 1, Math.max(0, to)));
	}

	move(i) {
		this.at = i;
		if (!this.cursor || !this.bins[BINS - 1])
			return;
		this.cursor.setAttribute("visibility", i < 0 ? "hidden" : "visible");
		if (i < 0) {
			this.value.textContent = this.spec.about + (this.spec.lines && this.bins.some(isAwayBin)
				? " Shaded: the server was away." : "");
			return;
		}
		this.cursor.setAttribute("x1", this.x(i + 0.5));
		this.cursor.setAttribute("x2", this.x(i + 0.5));
		const ago = BINS - 1 - i;
		const when = ago === 0 ? "the last minute" : ago + (ago === 1 ? " minute" : " minutes") + " ago";
		this.value.textContent = this.bins[i].known ? this.spec.read(this.bins[i], when) +
			(isAwayBin(this.bins[i]) ? "; the server was away" : "") : when + ": nothing is known";
	}
}
