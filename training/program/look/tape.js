// Panel 6: the operations of one step as a graph. Backwards, each operation hands its gradient to what it was made of.
const equations = {
  'embedding': ['y = table[ids]', 'dtable[ids] += dy'],
  'linear': ['y = x wᵀ + b', 'dx = dy w;   dw = dyᵀ x;   db = Σ dy'],
  'matmul': ['y = a b', 'da = dy bᵀ;   db = aᵀ dy'],
  'add': ['y = a + b', 'da = dy;   db = dy, summed where b was repeated'],
  'sub': ['y = a − b', 'da = dy;   db = −dy'],
  'mul': ['y = a · b', 'da = dy · b;   db = dy · a'],
  'div': ['y = a / b', 'da = dy / b;   db = −dy · y / b'],
  'scale': ['y = k x', 'dx = k dy'],
  'shift': ['y = x + k', 'dx = dy'],
  'sigmoid': ['y = 1 / (1 + e⁻ˣ)', 'dx = dy · y (1 − y)'],
  'hard_sigmoid': ['y = min(1, max(0, x/6 + 1/2))', 'dx = dy / 6 between the corners, else 0'],
  'tanh': ['y = tanh x', 'dx = dy · (1 − y²)'],
  'hard_tanh': ['y = min(1, max(−1, x))', 'dx = dy between −1 and 1, else 0'],
  'softsign': ['y = x / (1 + |x|)', 'dx = dy · (1 − |y|)²'],
  'relu': ['y = max(0, x)', 'dx = dy where x > 0'],
  'slice': ['y = some of x', 'dx = dy there, 0 elsewhere'],
  'row': ['y = x[i]', 'dx[i] = dy'],
  'stack': ['y = the parts, one after the other', 'each part\'s gradient is its piece of dy'],
  'concat': ['y = the parts, side by side', 'each part\'s gradient is its piece of dy'],
  'reshape': ['y = x in another shape', 'dx = dy in the shape of x'],
  'transpose': ['y = x, two dimensions exchanged', 'dx = dy, exchanged back'],
  'sum': ['y = Σ x', 'dx = dy, for each element'],
  'layer_norm': ['y = (x − mean) / deviation · gain + bias', 'dx, dgain, dbias by the chain rule over a row'],
  'softmax_cross_entropy':
      ['L = −log softmax(logits)[target]', 'dlogits = softmax(logits) − 1 at the target'],
};
const tapeOf = {
  model: -1,
  word: -1,
  played: 0,
  chosen: -1,
  timer: 0,
  nodes: [],
  edges: [],
  order: []
};

// Rows of operations: each stands just above what it is used by. Within a row, below what it is made of.
function layOut(operations, path) {
  const level = new Map(), kept = [];
  for (let k = operations.length - 1; k >= 0; --k)
    if (path.has(k)) {
      const users = kept.filter(u => operations[u].inputs.some(i => i.operation === k));
      level.set(k, users.length ? Math.max(...users.map(u => level.get(u))) + 1 : 0);
      kept.push(k);
    }
  const last = Math.max(...level.values()), rows = Array.from({length: last + 1}, () => []);
  for (const k of [...kept].reverse()) rows[last - level.get(k)].push(k);
  const wide = 176, most = Math.max(...rows.map(row => row.length)), x = new Map();
  for (const row of rows) {
    const above = k => operations[k].inputs.filter(i => x.has(i.operation)).map(i => x.get(i.operation));
    const mean = k => {
      const xs = above(k);
      return xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : most * wide / 2;
    };
    const sorted = row.map((k, i) => [mean(k), i, k]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const middle = sorted.reduce((sum, s) => sum + s[0], 0) / sorted.length;
    let left = Math.max(0, Math.min(most * wide - row.length * wide, middle - row.length * wide / 2));
    sorted.forEach(([, , k], i) => x.set(k, left + i * wide + wide / 2));
  }
  const y = new Map(),
        heights = rows.map(
            row => Math.max(...row.map(k => 48 + 13 * Math.min(3, weightsOf(operations[k]).length))));
  let top = 8;
  rows.forEach((row, r) => {
    row.forEach(k => y.set(k, top));
    top += heights[r] + 26;
  });
  return {x, y, width: most * wide, height: top, kept: kept.reverse()};
}
const weightsOf = operation => operation.inputs.filter(i => i.parameter !== undefined).map(i => i.parameter);
const heightOf = operation => 40 + 13 * Math.min(3, weightsOf(operation).length);

function pathToLoss(operations) {
  const path = new Set([operations.length - 1]);
  for (let k = operations.length - 1; k >= 0; --k)
    if (path.has(k))
      for (const input of operations[k].inputs)
        if (input.operation !== undefined) path.add(input.operation);
  return path;
}

function makeTape() {
  const {operations, parameters} = model().tape, path = pathToLoss(operations), l = layOut(operations, path);
  tapeOf.nodes = [], tapeOf.edges = [], tapeOf.order = [...l.kept].reverse();
  const svg = draw('svg', {
    viewBox: `0 0 ${l.width} ${l.height}`,
    width: l.width,
    height: l.height,
    class: 'fixed',
    role: 'group',
    'aria-label': `${l.kept.length} operations`
  });
  for (const k of l.kept)
    for (const input of operations[k].inputs) {
      if (input.operation === undefined) continue;
      const x0 = l.x.get(input.operation),
            y0 = l.y.get(input.operation) + heightOf(operations[input.operation]), x1 = l.x.get(k),
            y1 = l.y.get(k), half = (y1 - y0) / 2;
      const edge =
          draw('path', {class: 'edge', d: `M${x0} ${y0}C${x0} ${y0 + half} ${x1} ${y1 - half} ${x1} ${y1}`});
      tapeOf.edges.push({edge, to: k});
      svg.append(edge);
    }
  for (const k of l.kept) {
    const operation = operations[k],
          node = draw(
              'g', {
                class: 'node',
                tabindex: 0,
                role: 'button',
                'aria-label': `${operation.name} ${operation.shapes.join(' ')}`,
                transform: `translate(${l.x.get(k) - 80} ${l.y.get(k)})`,
                onclick: () => chooseOperation(k),
                onpointerenter: () => chooseOperation(k),
                onfocus: () => chooseOperation(k)
              },
              draw('rect', {width: 160, height: heightOf(operation)}),
              draw('text', {x: 80, y: 17, 'text-anchor': 'middle'}, clipped(operation.name, 22)),
              draw(
                  'text', {x: 80, y: 32, 'text-anchor': 'middle', class: 'soft'},
                  operation.shapes.join(' ')));
    weightsOf(operation).slice(0, 3).forEach(
        (p, i) => node.append(draw(
            'text', {x: 80, y: 45 + 13 * i, 'text-anchor': 'middle', class: 'weight'},
            clipped(parameters[p].name, 26))));
    tapeOf.nodes[k] = node;
    svg.append(node);
  }
  at('tape').replaceChildren(svg);
}

const normsOf = () => model().tape.norms[selection.word];
function chooseOperation(k) {
  tapeOf.chosen = k;
  const {operations, parameters} = model().tape, operation = operations[k], norms = normsOf();
  tapeOf.nodes.forEach((node, i) => node?.classList.toggle('at', i === k));
  const rows = [[
    'operation',
    `${tapeOf.order.length - tapeOf.order.indexOf(k)} of ${tapeOf.order.length}: ${operation.name} ${
        operation.shapes.join(' ')}`
  ]];
  const [forward, backward] = equations[operation.name] ?? [];
  if (forward) rows.push(['forward', forward], ['backward', backward]);
  rows.push(
      ['recorded at', `${operation.file}:${operation.line}`], ['|value|', digits(norms.values[k], 4)],
      ['|gradient|', digits(norms.gradients[k], 4)]);
  for (const p of weightsOf(operation))
    rows.push([
      'parameter',
      `${parameters[p].name} ${parameters[p].shape}: |value| ${digits(parameters[p].norm, 4)}, |gradient| ${
          digits(norms.parameters[p], 4)}`
    ]);
  at('tape-values')
      .replaceChildren(make(
          'dl', {class: 'operation'},
          ...rows.flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, make('code', {}, text))])));
}

function showPlayed() {
  const norms = normsOf(), played = new Set(tapeOf.order.slice(0, tapeOf.played));
  const most = Math.max(...norms.gradients.filter(g => g !== null), 1e-12);
  tapeOf.nodes.forEach((node, k) => {
    if (!node) return;
    node.classList.toggle('played', played.has(k));
    node.style.setProperty(
        '--share', `${(12 + 55 * Math.sqrt((norms.gradients[k] ?? 0) / most)).toFixed(0)}%`);
  });
  for (const {edge, to} of tapeOf.edges) edge.classList.toggle('played', played.has(to));
  at('play-step').disabled = tapeOf.played >= tapeOf.order.length;
}
function playOne() {
  if (tapeOf.played >= tapeOf.order.length) return stopPlaying();
  const k = tapeOf.order[tapeOf.played++];
  chooseOperation(k);
  showPlayed();
  const place = at('tape'), node = tapeOf.nodes[k].getBoundingClientRect(),
        frame = place.getBoundingClientRect();
  place.scrollTop += node.top - frame.top - frame.height / 2;
  place.scrollLeft += node.left - frame.left - frame.width / 2 + node.width / 2;
}
function stopPlaying() {
  clearInterval(tapeOf.timer);
  tapeOf.timer = 0;
  at('play').textContent = 'play backwards';
}
at('play').addEventListener('click', () => {
  if (tapeOf.timer) return stopPlaying();
  if (tapeOf.played >= tapeOf.order.length) tapeOf.played = 0;
  at('play').textContent = 'stop';
  tapeOf.timer = setInterval(playOne, 320);
  playOne();
});
at('play-step').addEventListener('click', () => {
  stopPlaying();
  playOne();
});
at('play-reset').addEventListener('click', () => {
  stopPlaying();
  tapeOf.played = 0;
  showPlayed();
  at('tape').scrollTop = 0;
});

panels.push(function tape() {
  at('tape-panel').hidden = !model().tape;
  if (!model().tape) return;
  if (tapeOf.model !== selection.model)
    stopPlaying(), tapeOf.model = selection.model, tapeOf.played = 0, tapeOf.chosen = -1, makeTape();
  const {operations} = model().tape;
  at('tape-text').textContent =
      (ofSeries ? tapeOfForecast() :
                  `The step that reads “${clipped(model().input[selection.word], 30)}” and predicts “${
                      clipped(model().target[selection.word], 30)}”`) +
      ', as the tape recorded it, top to bottom. Backward plays it from the last operation to the first.' +
      (model().layers.length ? ' The state before the step is a constant here.' : '');
  showPlayed();
  chooseOperation(tapeOf.chosen >= 0 ? tapeOf.chosen : operations.length - 1);
});
