// The first view of a run.

views.set('overview', {
  label: 'Overview',
  kinds: ['run'],
  draw(main) {
    main.append(
      el('h1', {}, said(report.suite.name)),
      facts([['Run', said(report.run_id)], ['Began', report.timestamp], ['Took', report.duration]]),
      el('ul', { class: 'reasons' }, report.reasons.map((reason) => el('li', {}, said(reason)))));
  },
});

