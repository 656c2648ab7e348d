// Of a text: how much each word surprises, and the bar at the top.
function describeWord(m, t) { return `${shown(m.written[t])}, ${m.bits[t].toFixed(1)} bits`; }

// Made once for each model: then only what is selected changes, so that the focus stays.
let shownModel = -1;
function makeWords() {
  const m = model(), most = Math.max(...m.bits, 1);
  shownModel = selection.model;
  at('words').classList.toggle('letters', letters());
  at('words').replaceChildren();
  m.written.forEach((text, t) => {
    const unknown = m.target[t] !== text;
    at('words').append(make(
        'button', {
          id: `word-${t}`,
          class: unknown ? 'unknown' : '',
          '--share': `${(m.bits[t] / most * 58).toFixed(1)}%`,
          'aria-label': describeWord(m, t) + (unknown ? `, read as ${shown(m.target[t])}` : ''),
          title: unknown ? `not in the vocabulary: read as ${shown(m.target[t])}` : null,
          onclick: () => select({word: t})
        },
        word(text), make('small', {}, m.bits[t].toFixed(1))));
    if (text === '<eos>' && t + 1 < m.written.length) at('words').append(make('span', {class: 'line-end'}));
  });
}

function bars(title, rows, right) {
  const most = Math.max(...rows.map(r => r[1]), 1e-9), list = make('div', {class: 'bars'});
  for (const [text, p, note] of rows) {
    const style = text === right ? 'right' : '';
    list.append(
        word(text, {class: style, title: shown(text)}), make('span', {}, make('span', {
                                                               class: `bar-of ${style}`,
                                                               style: 'display: block',
                                                               '--part': `${(100 * p / most).toFixed(2)}%`
                                                             })),
        make('span', {class: 'share'}, note ?? percent(p)));
  }
  return make('div', {}, make('h3', {}, title), list);
}

// The likeliest words, and the word itself where it is none of them.
function rowsOf(likeliest, target, p) {
  const rows = likeliest.map(([text, share]) => [text, share]);
  if (!rows.some(row => row[0] === target)) rows.push([target, p, p > 0 ? percent(p) : 'never']);
  return rows;
}

panels.push(function surprise() {
  if (ofSeries) return;
  const m = model(), t = selection.word;
  if (shownModel !== selection.model) makeWords();
  for (const button of at('words').querySelectorAll('button')) {
    const chosen = button.id === `word-${t}`;
    button.setAttribute('aria-pressed', chosen);
    button.tabIndex = chosen ? 0 : -1;
  }
  at('selected')
      .replaceChildren(
          `${t + 1} of ${m.target.length}: `, make('strong', {}, word(m.written[t])),
          ` ${m.bits[t].toFixed(1)} bits`);
  at('previous').disabled = t === 0;
  at('next').disabled = t + 1 === m.target.length;
  const p = 2 ** -m.bits[t];
  at('expected')
      .replaceChildren(bars(
          `What the model expected here: “${clipped(m.target[t], 30)}” was its choice ${m.rank[t]}`,
          rowsOf(m.next[t], m.target[t], p), m.target[t]));
  if (m.source) {
    const s = m.source[t];
    if (s && s.next.length)
      at('expected')
          .append(bars(
              'What the source itself would write here',
              rowsOf(s.next, m.target[t], s.bits === null ? 0 : 2 ** -s.bits), m.target[t]));
    else
      at('expected')
          .append(make('p', {class: 'soft'}, 'The grammar writes no sentence that begins like this one.'));
  }
  at('surprise-sums').textContent = sums(m);
});

function sums(m) {
  const all = m.bits.reduce((a, b) => a + b, 0), what = letters() ? 'character' : 'word';
  let text = `${(all / m.bits.length).toFixed(2)} bits a ${what}: perplexity ${
      digits(2 ** (all / m.bits.length), 4)}.`;
  if (m.source && m.source.every(s => s && s.bits !== null)) {
    const least = m.source.reduce((a, s) => a + s.bits, 0);
    text += ` The source itself needs ${(least / m.bits.length).toFixed(2)}: perplexity ${
        digits(2 ** (least / m.bits.length), 4)}.`;
  } else if (m.source) {
    text += ' Not all of this text is the grammar\'s.';
  }
  const unknown = m.written.filter((w, t) => w !== m.target[t]).length;
  if (unknown)
    text += ` ${unknown} of ${m.target.length} ${what}s ${
        unknown === 1 ? 'is' : 'are'} not in the vocabulary (dotted).`;
  return text;
}
