// On paper nothing can be unfolded or scrolled: what is folded is opened before, and closed again after.

/** Rows of the table of cases, and times that a list is asked for more, before it says that there is more. */
const PAPER_ROWS = 500;
const PAPER_TURNS = 5;

let openedForPaper = [];

addEventListener('beforeprint', () => {
  const closed = () => [...document.querySelectorAll('#main details:not([open], .numbers)')];
  // What opens may hold what is folded in turn. The event that fills it comes too late by itself.
  for (let found = closed(); found.length > 0; found = closed()) {
    for (const details of found) {
      details.open = true;
      details.dispatchEvent(new Event('toggle'));
      openedForPaper.push(details);
    }
  }
  for (const more of document.querySelectorAll('#main button.more')) {
    for (let turn = 0; turn < PAPER_TURNS && more.isConnected && !more.hidden; turn += 1) more.click();
  }
  if (document.getElementById('case-grid')) casesView.toPaper?.();
});

addEventListener('afterprint', () => {
  for (const details of openedForPaper) details.open = false;
  openedForPaper = [];
  if (document.getElementById('case-grid')) casesView.paint?.();
});
