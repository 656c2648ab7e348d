// Agreement of verbs with their subjects: of the grammar's models.
panels.push(function agreement() {
  if (ofSeries) return;
  const m = model();
  at('agreement-panel').hidden = !m.agreement;
  if (!m.agreement) return;
  const rows = m.agreement.by_attractors, most = Math.min(...rows.map(r => r.low), 0.9);
  const from = Math.max(0, Math.floor(most * 20) / 20 - 0.05);
  at('agreement-text').textContent =
      'Does the verb have the number of its subject? By the number of nouns of the other number in between: the share of cases in which the model ' +
      'finds the right form likelier than the wrong one (chases, chase), with its 95 % interval.';
  drawing(at('agreement'), 62 + 34 * rows.length, 500, 'Agreement by number of attractors', (svg, width) => {
    const left = 90, right = width - 235, x = share => left + (right - left) * (share - from) / (1 - from);
    const apart = 0.05 * Math.ceil((1 - from) / 0.2 - 1e-9);  // whole percents, five ticks at most
    const ticks = [0, 1, 2, 3, 4].map(i => 1 - i * apart).filter(tick => tick > from - 1e-9);
    for (const tick of ticks)
      svg.append(
          draw('line', {class: 'grid', x1: x(tick), x2: x(tick), y1: 8, y2: 20 + 34 * rows.length}),
          draw(
              'text', {x: x(tick), y: 38 + 34 * rows.length, 'text-anchor': 'middle'},
              `${(100 * tick).toFixed(0)} %`));
    rows.forEach((row, i) => {
      const y = 26 + 34 * i;
      svg.append(
          draw('text', {x: left - 12, y: y + 4, 'text-anchor': 'end'}, `${row.attractors} between`),
          draw('line', {
            x1: x(row.low),
            x2: x(row.high),
            y1: y,
            y2: y,
            style: 'stroke: var(--train); stroke-width: 7; opacity: 0.35; stroke-linecap: round'
          }),
          draw('circle', {class: 'of-c', cx: x(row.share), cy: y, r: 5.5}),
          draw(
              'text', {x: right + 14, y: y + 4},
              `${(100 * row.share).toFixed(1)} % of ${row.cases}; mean p ${row.p_right.toFixed(4)}`));
    });
  });
  const units = [
    ['verbs of a single main clause', m.agreement.unit_of_main_clauses],
    ['verbs in all', m.agreement.unit_of_all_verbs]
  ];
  at('agreement-unit')
      .replaceChildren(
          ...units.filter(([, unit]) => unit)
              .map(
                  ([verbs, unit]) => make(
                      'p', {},
                      `The single unit that tells the number best of ${unit.cases} ${verbs}, in ${
                          (100 * unit.share).toFixed(1)} %: `,
                      make(
                          'button', {onclick: () => select({layer: unit.layer - 1, unit: unit.unit - 1})},
                          `layer ${unit.layer} unit ${unit.unit}`))));
});
