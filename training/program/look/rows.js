// Of a series: which values of the window each forecast rests on.
function gradientsOf(m) {
  const g = m.series.gradients, channels = m.series.channels.length;
  if (!g.numbers) g.numbers = sixteenBits(g);
  return (t, row, channel) => g.numbers[t * g.units + row * channels + channel];
}

panels.push(function influence() {
  if (!ofSeries) return;
  const m = model(), s = m.series, t = selection.word, of = gradientsOf(m), rows = s.rows.length,
        count = m.target.length;
  const card = colour('--card'), high = colour('--valid'), low = colour('--train'), ink = colour('--ink');
  const norm = (target, row) => Math.hypot(...s.channels.map((_, c) => of(target, row, c)));
  const inStep = row => m.layers.length && stepOfRow(m, row) === selection.step;
  at('influence-all').hidden = count < 2;
  if (count > 1) {
    const norms = m.target.map((_, target) => s.rows.map((_, row) => norm(target, row))),
          most = norms.map(of => Math.max(...of, 1e-30));
    paint(
        at('influence'), rows, count, '100%', `${Math.max(60, Math.min(360, 9 * count))}px`,
        (row, target) => {
          const share = norms[target][row] / most[target];
          return target === t ? mixed(mixed(card, ink, 0.12), high, share) : mixed(card, high, 0.85 * share);
        });
    at('influence').setAttribute('aria-label', `Which rows each of ${count} forecasts rests on`);
  }
  // The channels of the chosen forecast, the 40 that count most.
  const strength = s.channels.map((_, c) => Math.hypot(...s.rows.map((_, row) => of(t, row, c))));
  const strongest =
      [...strength.keys()].sort((a, b) => strength[b] - strength[a]).slice(0, 40).sort((a, b) => a - b);
  const largest = Math.max(...strongest.flatMap(c => s.rows.map((_, row) => Math.abs(of(t, row, c)))), 1e-30);
  at('channel-names').style.setProperty('--side', '20px');
  at('channel-names')
      .replaceChildren(
          ...strongest.map(c => make('div', {title: shown(s.channels[c])}, clipped(s.channels[c], 14))));
  paint(at('channel-map'), rows, strongest.length, '100%', `${20 * strongest.length}px`, (row, c) => {
    const share = of(t, row, strongest[c]) / largest;
    return mixed(inStep(row) ? mixed(card, ink, 0.15) : card, share >= 0 ? high : low, Math.abs(share));
  });
  at('channel-map')
      .setAttribute('aria-label', `What the forecast of ${m.target[t]} rests on, by channel and row`);
  const cells = s.rows.flatMap((_, row) => s.channels.map((_, c) => ({row, c, value: of(t, row, c)})));
  const strong = cells.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
                     .slice(0, 4)
                     .filter(cell => cell.value !== 0);
  at('influence-values')
      .replaceChildren(
          `The ${forecastNoun(m)} of `, make('strong', {}, m.target[t]),
          strong.length ? ' rests most on ' : ' rests on nothing that was read',
          ...strong.flatMap(
              ({row, c, value}, i) =>
                  [i ? ', ' : '', word(s.channels[c]),
                   ` of ${s.rows[row]} (${value > 0 ? '+' : '−'}${digits(Math.abs(value))})`]),
          '.');
});

if (ofSeries) {
  const told = (event, canvas) => {
    const {column, row} = cellUnder(event, at(canvas)), m = model();
    return column >= 0 && column < m.series.rows.length && row >= 0 ? {column, row, m} : null;
  };
  at('influence').addEventListener('click', event => {
    const cell = told(event, 'influence');
    if (cell) select({word: cell.row, step: stepOfRow(cell.m, cell.column)});
  });
  at('influence').addEventListener('keydown', event => {
    const by = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (by) event.preventDefault(), select({word: selection.word + by});
  });
  at('channel-map').addEventListener('click', event => {
    const cell = told(event, 'channel-map');
    if (cell) select({step: stepOfRow(cell.m, cell.column)});
  });
  at('channel-map').addEventListener('keydown', event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (by) event.preventDefault(), select({step: selection.step + by});
  });
  at('influence').addEventListener('pointermove', event => {
    const cell = told(event, 'influence');
    at('influence').title = cell ? `${cell.m.target[cell.row]} and ${cell.m.series.rows[cell.column]}` : '';
  });
  at('channel-map').addEventListener('pointermove', event => {
    const cell = told(event, 'channel-map');
    at('channel-map').title = cell ? cell.m.series.rows[cell.column] : '';
  });
}
const tapeOfForecast = () => model().layers.length ?
    `The last step of the layers, which ends in the forecast of “${model().target[selection.word]}”` :
    `All that makes the forecast of “${model().target[selection.word]}”`;
