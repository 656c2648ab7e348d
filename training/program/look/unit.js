// Panel 2: a unit over time. Step t is what the unit holds after input t was read, which in a text is just before word t.
const gateNames = () => layer().values.map(v => v.name).filter(name => name !== 'c' && name !== 'h');
const gateBars = () => model().cell === 'lstm' ? ['i', 'f', 'o'] : model().cell === 'gru' ? ['r', 'z'] : [];
const gateMeanings = {
  i: 'input gate i',
  f: 'forget gate f',
  o: 'output gate o',
  r: 'reset gate r',
  z: 'update gate z'
};

function colouredWords(place, words, shareOf, chosen, choose) {
  place.classList.toggle('letters', letters());
  place.replaceChildren();
  words.forEach((text, t) => {
    if (text === null) return;
    place.append(
        make(
            'span', {'--back': backOf(shareOf(t)), class: t === chosen ? 'at' : '', onclick: () => choose(t)},
            word(text)),
        letters() ? '' : ' ');
  });
}

panels.push(function unitOverTime() {
  if (!model().layers.length) return;
  const m = model(), name = stateName(), values = valuesOf(name), u = selection.unit, t = selection.step;
  const steps = m.input.length, all = [...Array(steps).keys()].map(s => values.at(s, u));
  at('unit').max = layer().units;
  if (document.activeElement !== at('unit')) at('unit').value = u + 1;
  at('unit-text').textContent =
      `The ${name === 'c' ? 'cell state c' : 'state h'} of one unit after each ${rowNoun()} was read` +
      (gateBars().length ?
           `, and its gates below: ${gateBars().map(g => gateMeanings[g]).join(', ')}, each from 0 to 1.` :
           '.') +
      (ofSeries ? ` The grey line is ${shown(m.series.target)}, on a scale of its own.` :
                  ' Orange is above zero, blue below.');
  offer(m);
  const most = Math.max(...all.map(Math.abs), 1e-9);
  if (!ofSeries) colouredWords(at('unit-words'), m.input, s => all[s] / most, t, selectStep);

  const gates = gateBars().map(g => valuesOf(g)), least = 60 + steps * leastStep();
  const barsTop = 190, barsHeight = 46, bottom = gates.length ? barsTop + barsHeight : 172;
  drawing(
      at('unit-chart'), bottom + (ofSeries ? 100 : 78), least,
      `${name} of unit ${u + 1} of layer ${selection.layer + 1} over ${steps} steps`, (svg, width) => {
        const left = 52, right = width - 12, x = s => left + (s + 0.5) * (right - left) / steps,
              step = (right - left) / steps;
        const high = Math.max(...all, 0), low = Math.min(...all, 0), span = high - low || 1;
        const y = v => 14 + 150 * (high - v) / span;
        svg.append(
            draw('rect', {class: 'at-step', x: x(t) - step / 2, y: 8, width: step, height: bottom - 8}));
        for (const v of [high, 0, low])
          if (v === 0 || Math.abs(v) > 0.12 * span)
            svg.append(
                draw('line', {class: v === 0 ? 'axis' : 'grid', x1: left, x2: right, y1: y(v), y2: y(v)}),
                draw('text', {x: left - 6, y: y(v) + 4, 'text-anchor': 'end'}, v === 0 ? '0' : digits(v, 2)));
        if (ofSeries) svg.append(draw('path', {class: 'curve untrained', d: seriesPath(m, x, 14, 164)}));
        svg.append(draw('path', {class: `curve of-${name}`, d: pathOf(all.map((v, s) => [x(s), y(v)]))}));
        if (step > 7)
          all.forEach(
              (v, s) =>
                  svg.append(draw('circle', {class: `of-${name}`, cx: x(s), cy: y(v), r: s === t ? 5 : 3})));
        gates.forEach((g, k) => {
          const wide = Math.max(1, Math.min(7, step / (gates.length + 1)));
          for (let s = 0; s < steps; ++s) {
            const share = g.at(s, u);
            svg.append(draw('rect', {
              class: `b${k}`,
              x: x(s) + (k - gates.length / 2) * wide,
              width: Math.max(0.8, wide - 1),
              y: barsTop + barsHeight * (1 - share),
              height: barsHeight * share
            }));
          }
        });
        if (gates.length)
          svg.append(
              draw('line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom}),
              draw('line', {class: 'grid', x1: left, x2: right, y1: barsTop, y2: barsTop}),
              draw('text', {x: left - 6, y: barsTop + 9, 'text-anchor': 'end'}, '1'),
              draw('text', {x: left - 6, y: bottom, 'text-anchor': 'end'}, '0'),
              ...gateBars().map(
                  (g, k) => draw(
                      'text', {
                        x: 6,
                        y: barsTop + 12 + 15 * k,
                        class: 'name',
                        style: `fill: var(${['--level', '--train', '--soft'][k]})`
                      },
                      g)));
        axisWords(svg, m.input, x, bottom + 16, step, t);
        for (let s = 0; s < steps; ++s)
          svg.append(draw(
              'rect', {
                class: 'hit',
                x: x(s) - step / 2,
                y: 0,
                width: step,
                height: bottom,
                onclick: () => selectStep(s)
              },
              draw('title', {}, `after ${shown(m.input[s])}: ${name} = ${digits(all[s])}`)));
      });
  const values_ = [name, ...(name === 'c' ? ['h'] : []), ...gateNames()]
                      .map(g => [g, valuesOf(g)])
                      .filter(([, v]) => v && u < v.units);
  at('unit-values')
      .replaceChildren(
          'after ', make('strong', {}, word(m.input[t])), `, layer ${selection.layer + 1}, unit ${u + 1}: `,
          values_.map(([g, v]) => `${g} = ${digits(v.at(t, u))}`).join('   '));
});

function offer(m) {
  at('offered').replaceChildren(...m.offered.map(
      o => make(
          'button', {
            'aria-pressed': o.layer === selection.layer && o.unit === selection.unit,
            title: o.how,
            onclick: () => select({layer: o.layer, unit: o.unit})
          },
          `${o.what}: layer ${o.layer + 1} unit ${o.unit + 1} `,
          make('span', {class: 'number-told'}, o.told))));
}

at('unit').addEventListener('input', event => {
  const n = Number(event.target.value);
  if (Number.isInteger(n) && n >= 1 && n <= layer().units) select({unit: n - 1});
});
at('unit').addEventListener('change', event => { event.target.value = selection.unit + 1; });
