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
static const struct {
	int code;
	enum top_key key;
} keys[] = {
    {ERR, TOP_KEY_NONE},
    {KEY_RESIZE, TOP_KEY_RESIZED},
    {'q', TOP_KEY_QUIT},
    {'Q', TOP_KEY_QUIT},
    {3, TOP_KEY_QUIT}, /* ^C, where the terminal sends no signal */
    {'s', TOP_KEY_SORT},
    {'p', TOP_KEY_PAUSE},
    {' ', TOP_KEY_PAUSE},
    {KEY_RIGHT, TOP_KEY_RIGHT},
    {KEY_LEFT, TOP_KEY_LEFT},
    {KEY_DOWN, TOP_KEY_DOWN},
    {'j', TOP_KEY_DOWN},
    {KEY_UP, TOP_KEY_UP},
    {'k', TOP_KEY_UP},
    {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
    {KEY_PPAGE, TOP_KEY_PAGE_UP},
    {KEY_HOME, TOP_KEY_HOME},
    {KEY_END, TOP_KEY_END},
    {'\t', TOP_KEY_SECTION},
    {KEY_BTAB, TOP_KEY_FORMER_SECTION},
    {'/', TOP_KEY_FILTER},
    {'\r', TOP_KEY_ENTER},
    {'\n', TOP_KEY_ENTER},
    {KEY_ENTER, TOP_KEY_ENTER},
    {27, TOP_KEY_ESCAPE},
    {8, TOP_KEY_ERASE},
    {127, TOP_KEY_ERASE},
    {KEY_BACKSPACE, TOP_KEY_ERASE},
    {'h', TOP_KEY_HELP},
    {'?', TOP_KEY_HELP},
    {'w', TOP_KEY_WIDE},
};

enum top_key top_screen_key(char *byte)
{
	int code = getch();

	*byte = (code >= 32 && code < 127) || (code >= 128 && code < 256)
		    ? (char)code
		    : '\0';
	if (code == 12) /* ^L */
		clearok(curscr, TRUE);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return TOP_KEY_REDRAW;
}
