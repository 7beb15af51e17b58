/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only file that knows ncurses: it puts pages on the terminal, reads keys,
 * and leaves the terminal as it was. */
#include "top/top_screen.h"

#include <curses.h>

#include "ctl/ctl_text.h"

/* The terminal; NULL: it is not open. */
static SCREEN *screen;

/* Chooses how the next text looks, by its style: in colours, or where there are
 * none by attributes. */
static void use_style(enum top_style style)
{
	bool colours = ctl_colour(stdout) && has_colors();
	static const struct {
		short colour;         /* a pair; 0: none */
		attr_t with, without; /* colours */
	} looks[TOP_STYLES] = {
	    [TOP_TITLE] = {.with = A_BOLD, .without = A_BOLD},
	    [TOP_HEAD] = {.with = A_REVERSE, .without = A_REVERSE},
	    [TOP_DIM] = {.with = A_DIM, .without = A_DIM},
	    [TOP_GOOD] = {.colour = 1},
	    [TOP_WARN] = {.colour = 2},
	    [TOP_BAD] = {.colour = 3, .without = A_BOLD},
	};

	(void)attr_set(colours ? looks[style].with : looks[style].without,
	    colours ? looks[style].colour : (short)0, NULL);
}

/* The background stays the terminal's own (use_default_colors(3)). */
static void choose_colours(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_RED, -1);
}

/* newterm(3) is used since initscr(3) ends the program where TERM is
 * unknown. */
bool top_screen_open(void)
{
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	choose_colours();
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return true;
}

void top_screen_close(void)
{
	endwin();
	delscreen(screen);
	screen = NULL;
}

void top_screen_size(int *columns, int *rows)
{
	getmaxyx(stdscr, *rows, *columns);
}

/* Writes the cells of a row; ncurses sends only those that have changed. */
static void show_row(const struct top_page *p, int row, int columns)
{
	for (int i = 0; i < columns; i++) {
		enum top_style style;
		const char *text = top_page_at(p, row, i, &style);

		if (!*text)
			continue;
		use_style(style);
		mvaddstr(row, i, text);
	}
	(void)attr_set(A_NORMAL, 0, NULL);
}

void top_screen_show(const struct top_page *p)
{
	int columns, rows;

	top_screen_size(&columns, &rows);
	if (columns > top_page_columns(p))
		columns = top_page_columns(p);
	if (rows > top_page_rows(p))
		rows = top_page_rows(p);
	erase();
	for (int i = 0; i < rows; i++)
		show_row(p, i, columns);
	refresh();
}

/* Keys that mean nothing only redraw the page. */
enum top_key top_screen_key(void)
{
	switch (getch()) {
	case ERR:
		return TOP_KEY_NONE;
	case KEY_RESIZE:
		return TOP_KEY_RESIZED;
	case 'q':
	case 'Q':
	case 3: /* ^C, where the terminal sends no signal */
		return TOP_KEY_QUIT;
	case 's':
		return TOP_KEY_SORT;
	case 'p':
	case ' ':
		return TOP_KEY_PAUSE;
	case KEY_RIGHT:
	case KEY_DOWN:
	case '\t':
		return TOP_KEY_NEXT;
	case KEY_LEFT:
	case KEY_UP:
	case KEY_BTAB:
		return TOP_KEY_FORMER;
	case 'h':
	case '?':
		return TOP_KEY_HELP;
	case 'w':
		return TOP_KEY_WIDE;
	case 12: /* ^L */
		clearok(curscr, TRUE);
		return TOP_KEY_REDRAW;
	default:
		return TOP_KEY_REDRAW;
	}
}
