// Of a series: the forecast beside the truth, and the bar at the top.
const horizonStep = (m, t = selection.word) => m.series.shown[t];
const forecastNoun = m => m.series.detects ? 'probability' : 'forecast';
const amount = value => value === null || !isFinite(value) ? '–' : String(Number(value.toPrecision(6)));
// The row that a step of the layers read last.
const rowOfStep = (m, step) => Math.min((step + 1) * m.series.segment, m.series.rows.length) - 1;
const stepOfRow = (m, row) => Math.floor(row / m.series.segment);

function ticksBetween(low, high) {
  const raw = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw)),
        step = [1, 2, 5, 10].find(k => k * power >= raw) * power, ticks = [];
  const first = Math.ceil(low / step),
        count = Math.min(
            Math.floor(high / step) - first, 10);  // where numbers are too large, adding 1 does nothing
  for (let k = 0; k <= count; ++k) ticks.push((first + k) * step);
  return ticks;
}
// The window's values of the target between two heights; x is of steps of the layers.
function seriesPath(m, x, top, bottom) {
  const {history, segment} = m.series, known = history.filter(v => v !== null), high = Math.max(...known),
                  low = Math.min(...known);
  return pathOf(history.map((v, row) => v === null ? null : [
    x((row + 1) / segment - 1), bottom - (bottom - top) * (v - low) / (high - low || 1)
  ]));
}
const legendOfSeries =
    m => [['the window', 'grey'], ...(m.series.truth.some(v => v !== null) ? [['truth', 'truth']] : [])];

// The window of the first of these models, what came, and each model's forecast.
function forecastChart(place, of, styles) {
  const m = of.reduce((a, b) => b.series.rows.length > a.series.rows.length ? b : a), s = m.series;
  const rows = s.rows.length, first = s.detects ? rows - 1 : rows, count = first + s.times.length,
        chosen = first + horizonStep(of[0]);
  const numbers = [
    s.history, s.truth,
    ...of.flatMap(one => [one.series.forecast, one.series.low ?? [], one.series.high ?? []])
  ].flat().filter(v => v !== null);
  const most = Math.max(...numbers), least = Math.min(...numbers),
        room = (most - least || Math.abs(most) || 1) * 0.06, high = most + room, low = least - room;
  drawing(place, 330, 280, `${shown(s.target)}: the window, ${forecastNoun(m)} and truth`, (svg, width) => {
    const left = 62, right = width - 12, step = (right - left) / count, x = k => left + (k + 0.5) * step,
          y = v => 8 + 212 * (high - v) / (high - low);
    place.dataset.unit = (high - low) / 212;  // a pixel
    svg.append(draw('rect', {
      class: 'at-step',
      x: x(chosen) - Math.max(step, 3) / 2,
      y: 8,
      width: Math.max(step, 3),
      height: 212
    }));
    for (const tick of ticksBetween(low, high))
      svg.append(
          draw('line', {class: 'grid', x1: left, x2: right, y1: y(tick), y2: y(tick)}),
          draw('text', {x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, amount(tick)));
    if (!s.detects)
      svg.append(draw('line', {class: 'axis', x1: x(rows - 0.5), x2: x(rows - 0.5), y1: 8, y2: 220}));
    const curve = (values, from, style) => {
      svg.append(draw('path', {
        class: `curve ${style}`,
        d: pathOf(values.map((v, k) => v === null ? null : [x(from + k), y(v)]))
      }));
      values.forEach((v, k) => {  // of a line of one point nothing would be seen
        if (v !== null && (values.length === 1 || step > 9))
          svg.append(
              draw('circle', {class: style, cx: x(from + k), cy: y(v), r: from + k === chosen ? 5 : 3}));
      });
    };
    if (of.length === 1 && s.low)
      svg.append(draw('path', {
        class: 'band',
        d: pathOf([
             ...s.high.map((v, k) => [x(first + k), y(v)]),
             ...s.low.map((v, k) => [x(first + k), y(v)]).reverse()
           ]) +
            'Z'
      }));
    curve(s.history, 0, 'untrained');
    curve(s.truth, first, 'truth');
    of.forEach((one, i) => curve(one.series.forecast, first, styles[i]));
    axisWords(svg, s.detects ? s.rows : [...s.rows, ...s.times], x, 238, step, chosen);
    for (let k = 0; k < count; ++k) {
      const ahead = k - first;
      svg.append(draw(
          'rect', {
            class: 'hit',
            x: x(k) - step / 2,
            y: 0,
            width: step,
            height: 222,
            onclick: () =>
                ahead < 0 ? select({step: stepOfRow(m, k)}) : select({word: nearestShown(m, ahead)})
          },
          draw(
              'title', {},
              ahead < 0 ? `${s.rows[k]}: ${amount(s.history[k])}` :
                          `${s.times[ahead]}: ${
                              of.map(one => `${forecastNoun(m)} ${amount(one.series.forecast[ahead])}`)
                                  .join(', ')}, truth ${amount(s.truth[ahead])}`)));
    }
  });
}
const nearestShown = (m, k) => m.series.shown.reduce(
    (best, step, t) => Math.abs(step - k) < Math.abs(m.series.shown[best] - k) ? t : best, 0);

panels.push(function forecast() {
  if (!ofSeries) return;
  const m = model(), s = m.series, t = selection.word, k = horizonStep(m), truth = s.truth[k];
  const text =
      `${forecastNoun(m)} ${amount(s.forecast[k])}` + (truth === null ? '' : `, truth ${amount(truth)}`);
  at('selected')
      .replaceChildren(`${t + 1} of ${m.target.length}: `, make('strong', {}, word(m.target[t])), ` ${text}`);
  at('previous').disabled = t === 0;
  at('next').disabled = t + 1 === m.target.length;
  at('forecast-text').textContent = s.detects ?
      `The probability that ${shown(s.target)} is 1 in the last row of the window, and what the file says.` :
      `What the model reads of ${
          shown(
              s.target)}, what it forecasts, and what came. Choose a row of the forecast by mouse or with the arrow keys; a row of the window chooses the step of the panels below.`;
  legend(at('forecast-legend'), [
    ...legendOfSeries(m), [forecastNoun(m), 'of-c'],
    ...(s.low ? [['between its lowest and its highest quantile', 'of-band']] : [])
  ]);
  forecastChart(at('forecast'), [m], ['of-c']);
  const known = s.truth.map((v, step) => [v, s.forecast[step]]).filter(([v]) => v !== null);
  at('forecast-values').textContent = `${m.target[t]}: ${text}.` +
      (known.length > 1 ?
           ` Over these ${known.length} rows the forecast is off by ${
               amount(known.reduce((sum, [v, f]) => sum + Math.abs(v - f), 0) / known.length)} on average.` :
           '');
});
