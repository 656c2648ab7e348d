// Panel 3: how far back gradients reach. Panel 4 of a text: what predictions rest on.
const kindsOfState = m => m.reach.c ? ['c', 'h'] : ['h'];

// Curves of norms over steps on a logarithmic scale. curves: {style, values}, a value for each step from the first on.
function logChart(place, curves, words, chosen, label) {
  const positive = curves.flatMap(c => c.values).filter(v => v > 0);
  const high = Math.log10(Math.max(...positive, 1e-12)),
        low = Math.max(Math.log10(Math.min(...positive, 1)), high - 9);
  const top = Math.ceil(high * 4) / 4 + 0.05, bottom = Math.min(Math.floor(low * 4) / 4, top - 1);
  const count = words.length;
  drawing(place, ofSeries ? 320 : 300, 240, label, (svg, width) => {
    const left = 46, right = width - 10, step = (right - left) / count, x = s => left + (s + 0.5) * step;
    const y = v => v > 0 ? Math.min(214, 12 + 200 * (top - Math.log10(v)) / (top - bottom)) : 214;
    for (let decade = Math.ceil(bottom); decade <= top; ++decade)
      svg.append(
          draw('line', {class: 'grid', x1: left, x2: right, y1: y(10 ** decade), y2: y(10 ** decade)}),
          draw(
              'text', {x: left - 6, y: y(10 ** decade) + 4, 'text-anchor': 'end'},
              decade < -3 || decade > 3 ? `1e${decade}` : `${10 ** decade}`));
    for (const {style, values} of curves) {
      svg.append(draw(
          'path',
          {class: `curve ${style}`, d: pathOf(values.map((v, s) => v === null ? null : [x(s), y(v)]))}));
      if (step > 8 && !style.includes('untrained'))
        values.forEach(
            (v, s) => v !== null && svg.append(draw('circle', {class: style, cx: x(s), cy: y(v), r: 2.6})));
    }
    axisWords(svg, words, x, 230, step, chosen);
    words.forEach(
        (text, s) => svg.append(draw(
            'rect', {class: 'hit', x: x(s) - step / 2, y: 0, width: step, height: 215},
            draw(
                'title', {},
                `after ${shown(text)}: ` + curves.map(c => `${c.name} ${digits(c.values[s])}`).join(', ')))));
  });
}

function reachCurves(m, t, k, style = '') {
  return kindsOfState(m).map(kind => {
    const of = norms(m.reach[kind][k]);
    return {
      name: `|∂${lossName}/∂${kind}|`,
      kind,
      style: `of-${kind} ${style}`,
      values: [...Array(reachedSteps(m, t)).keys()].map(s => of(t, s))
    };
  });
}

panels.push(function reach() {
  if (!model().layers.length) return;
  const m = model(), t = selection.word, k = selection.layer, kinds = kindsOfState(m),
        count = reachedSteps(m, t);
  const trained = reachCurves(m, t, k);
  const untrained = !m.untrained ? [] :
                                   reachCurves({...m, reach: m.untrained}, t, k, 'untrained')
                                       .map(c => ({...c, name: `untrained ${c.kind}`}));
  at('reach-text').textContent =
      `${
          ofSeries ? 'The chosen forecast' :
                     `The loss of the chosen ${rowNoun()}`}, backwards: the norm of its gradient at ${
          kinds.length > 1 ? 'the cell state c and at the output h' : 'the state h'} of ` +
      `layer ${k + 1} after each ${
          ofSeries ? rowNoun() + ' read' : 'earlier ' + rowNoun()}. The scale is logarithmic.` +
      (kinds.length > 1 ? ' What c keeps is the LSTM\'s carousel.' : '');
  legend(at('reach-legend'), [
    ...kinds.map(kind => [`|∂${lossName}/∂${kind}|`, `of-${kind}`]),
    ...untrained.map(({kind}) => [`${kind}, before training`, kind === 'h' ? 'grey-dashed' : 'grey'])
  ]);
  const words = m.input.slice(0, count), last = count - 1, back = Math.min(7, last);
  logChart(
      at('reach'), [...untrained, ...trained], words, ofSeries ? selection.step : t,
      `Norms of gradients at layer ${k + 1} for ${ofSeries ? 'the forecast' : 'the loss'} of ${
          shown(m.target[t])}`);
  at('reach-values').textContent = last === 0 ?
      `The first ${rowNoun()} has nothing before it${ofSeries ? '' : ' but the end of a line'}.` :
      `From “${clipped(m.input[last], 24)}”, ${back} step${back === 1 ? '' : 's'} back to “${
          clipped(m.input[last - back], 24)}”: ` +
          trained.map(c => `${c.name} ${digits(c.values[last])} → ${digits(c.values[last - back])}`)
              .join('; ') +
          '.';
});

panels.push(function restsOn() {
  if (ofSeries) return;
  const m = model(), t = selection.word, count = m.target.length, of = norms(m.reach.embedding),
        canvas = at('rests');
  const card = colour('--card'), dark = colour('--valid'), grid = colour('--grid');
  const most = m.target.map((_, row) => Math.max(...[...Array(row + 1).keys()].map(s => of(row, s)), 1e-30));
  const room = Math.min(520, at('rests-panel').clientWidth - 36), named = count <= 45;
  const side = Math.max(1, Math.floor(Math.min(20, (room - (named ? 130 : 0)) / count)));
  paint(
      canvas, count, count, named || side >= 2 ? `${side * count}px` : '100%', 'auto',
      (s, row) => s > row ?
          (row === t ? grid : null) :
          mixed(card, dark, of(row, s) / most[row] * (row === t ? 1 : 0.8) + (row === t ? 0 : 0.02)));
  for (const id of ['rests-rows', 'rests-diagonal']) at(id).style.setProperty('--side', `${side}px`);
  at('rests-rows')
      .replaceChildren(
          ...(named ? m.written : [])
              .map((text, row) => make('div', {class: row === t ? 'at' : ''}, clipped(text, 9))));
  at('rests-diagonal')
      .replaceChildren(
          ...(named ? m.input : [])
              .map(
                  (text, s) =>
                      make('span', {'--column': s + 1, class: s === t ? 'at' : ''}, clipped(text, 9))));
  const shares = m.input.slice(0, t + 1).map((_, s) => of(t, s) / most[t]);
  canvas.setAttribute('aria-label', `Which ${rowNoun()}s each of ${count} predictions rests on`);
  colouredWords(at('rests-words'), m.input.slice(0, t + 1), s => shares[s], -1, s => select({word: s}));
  at('rests-words').append('→ ', make('strong', {}, word(m.target[t])));
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, 4);
  at('rests-values')
      .replaceChildren(
          'The prediction of ', make('strong', {}, word(m.target[t])), ' rests most on ',
          ...order.flatMap((s, i) => [i ? ', ' : '', word(m.input[s]), ` (${digits(of(t, s))})`]), '.');
});
if (!ofSeries) {
  at('rests').addEventListener('click', event => select({word: cellUnder(event, at('rests')).row}));
  at('rests').addEventListener('pointermove', event => {
    const {column, row} = cellUnder(event, at('rests')), m = model();
    if (row < 0 || row >= m.target.length || column < 0 || column > row) {
      at('rests').title = '';
      return;
    }
    at('rests').title = `${shown(m.target[row])} rests on ${shown(m.input[column])}: ${
        digits(norms(m.reach.embedding)(row, column))}`;
  });
  at('rests').addEventListener('keydown', event => {
    const by = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (by) event.preventDefault(), select({word: selection.word + by});
  });
}
