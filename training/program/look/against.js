// One model against another, on the same text or the same rows.
const styles = ['of-c', 'of-h'];  // of the first and the second model

panels.push(function against() {
  at('against-panel').hidden = models.length < 2;
  if (models.length < 2) return;
  legend(
      at('against-legend'),
      [...(ofSeries ? legendOfSeries(models[0]) : []), ...models.map((m, i) => [m.title, styles[i]])]);
  if (ofSeries)
    againstOfSeries();
  else
    againstOfText();
  againstReach();
});

const againstRow = (name, of) => make(
    'tr', {}, make('th', {scope: 'row'}, name), ...models.map(m => make('td', {class: 'number'}, of(m))));
function againstTable(rows) {
  at('against-table')
      .replaceChildren(make(
          'table', {},
          make(
              'thead', {},
              make(
                  'tr', {}, make('th', {}),
                  ...models.map(m => make('th', {class: 'number', title: m.summary}, m.title)))),
          make('tbody', {}, ...rows)));
}
const introduced = () => models.map(m => `${m.title}: ${m.summary}.`).join(' ');

function againstOfText() {
  at('against-text').textContent = `${
      introduced()} Their bits for each ${rowNoun()}, and how far back the loss of the chosen ${rowNoun()} reaches in each. The choice at the top of the page says whose panels stand above.`;
  const t = selection.word, steps = models[0].target.length,
        most = Math.max(...models.flatMap(m => m.bits), 1);
  drawing(at('against-chart'), 250, 60 + steps * leastStep(), `Bits of each ${rowNoun()}`, (svg, width) => {
    const left = 40, right = width - 8, step = (right - left) / steps, x = s => left + (s + 0.5) * step,
          y = v => 160 - 148 * v / most;
    svg.append(draw('rect', {class: 'at-step', x: x(t) - step / 2, y: 8, width: step, height: 154}));
    for (const v of [0, Math.ceil(most / 2), Math.floor(most)])
      svg.append(
          draw('line', {class: 'grid', x1: left, x2: right, y1: y(v), y2: y(v)}),
          draw('text', {x: left - 6, y: y(v) + 4, 'text-anchor': 'end'}, v));
    models.forEach((m, i) => {
      const wide = Math.min(10, step / 2.4);
      m.bits.forEach(
          (bits, s) => svg.append(draw(
              'rect', {
                x: x(s) + (i - 1) * wide,
                width: Math.max(1, wide - 1),
                y: y(bits),
                height: Math.max(0.5, 160 - y(bits)),
                style: `fill: var(${i ? '--train' : '--valid'})`
              },
              draw('title', {}, `${m.title}: ${bits.toFixed(2)} bits`))));
    });
    axisWords(svg, models[0].target, x, 178, step, t);
    for (let s = 0; s < steps; ++s)
      svg.append(draw('rect', {
        class: 'hit',
        x: x(s) - step / 2,
        y: 0,
        width: step,
        height: 164,
        onclick: () => select({word: s})
      }));
  });
  const mean = m => m.bits.reduce((a, b) => a + b, 0) / m.bits.length;
  const counts =
      [...new Set(models.flatMap(m => m.agreement ? m.agreement.by_attractors.map(r => r.attractors) : []))];
  againstTable([
    againstRow(`bits a ${rowNoun()}, this text`, m => mean(m).toFixed(3)),
    againstRow('perplexity, this text', m => digits(2 ** mean(m), 4)),
    againstRow(
        `${rowNoun()}s that it alone predicts better`,
        m => m.bits.filter((bits, s) => models.every(other => other === m || bits < other.bits[s])).length),
    ...counts.map(
        count => againstRow(
            `agreement, ${count} between`,
            m => {
              const found = m.agreement?.by_attractors.find(r => r.attractors === count);
              return found ? `${(100 * found.share).toFixed(1)} %` : '–';
            }))
  ]);
}

function againstOfSeries() {
  at('against-text').textContent = `${
      introduced()} What they make of the same rows. The choice at the top of the page says whose panels stand above.`;
  forecastChart(at('against-chart'), models, styles);
  const away = (m, k) =>
      m.series.truth[k] === null ? null : Math.abs(m.series.forecast[k] - m.series.truth[k]);
  const aways = m => m.series.times.map((_, k) => away(m, k)).filter(v => v !== null),
        mean = of => of.reduce((a, b) => a + b, 0) / of.length;
  const known = aways(models[0]).length > 0;
  againstTable([
    againstRow(
        `${forecastNoun(models[0])} of ${models[0].target[selection.word]}`,
        m => amount(m.series.forecast[horizonStep(m)])),
    ...(known ?
            [
              againstRow('mean absolute error, these rows', m => amount(mean(aways(m)))),
              againstRow('root mean square error', m => amount(Math.sqrt(mean(aways(m).map(v => v * v))))),
              againstRow(
                  'rows that it alone does better',
                  m => m.series.times
                           .filter(
                               (_, k) => away(m, k) !== null &&
                                   models.every(other => other === m || away(m, k) < away(other, k)))
                           .length)
            ] :
            [])
  ]);
}

// How far back gradients reach in each. Windows of two lengths end together.
function againstReach() {
  at('against-reach').replaceChildren();
  const looked = models.map((m, i) => ({m, style: styles[i]})).filter(({m}) => m.layers.length);
  if (!looked.length) return;
  const t = selection.word, kinds = looked.some(({m}) => m.reach.c) ? ['c', 'h'] : ['h'];
  const charts = kinds.map(kind => {
    const chart = make('div', {});
    at('against-reach')
        .append(make(
            'div', {},
            make(
                'h3', {},
                `|∂${lossName}/∂${kind}|, layer ${selection.layer + 1}, of “${
                    clipped(models[0].written?.[t] ?? models[0].target[t], 24)}”`),
            chart));
    return chart;
  });  // all of them before one is drawn: they share the width
  const count = Math.max(...looked.map(({m}) => reachedSteps(m, t))),
        longest = looked.find(({m}) => reachedSteps(m, t) === count).m;
  for (const [n, kind] of kinds.entries()) {
    const curves = looked.flatMap(
        ({m, style}) => reachCurves(m, t, Math.min(selection.layer, m.layers.length - 1))
                            .filter(c => c.kind === kind)
                            .map(c => ({
                                   name: m.title,
                                   style,
                                   values: [...Array(count - c.values.length).fill(null), ...c.values]
                                 })));
    logChart(
        charts[n], curves, longest.input.slice(0, count), ofSeries ? -1 : t,
        `|∂${lossName}/∂${kind}| of both models`);
  }
}
