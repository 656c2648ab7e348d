// A page of `look --live`: what its reader types, drags and holds, and the model's numbers for that.
const recorded = {...models[0]}, letTell = text => at('live-told').replaceChildren(text);
const engine = live && makeEngine(live);
let needRow = () => {}, timer = 0, cells = [], drag = null;

// Shows the page's model as run() changes it, which reads so many steps. seed(t) begins the gradients of target t of `count`: of the chosen
// one at once, of the others in pauses.
function showLive(steps, count, run, seed) {
  const start = performance.now(), known = new Set();
  const place = (t, step) => ofSeries ? t * steps + step : t * (t + 1) / 2 + step;
  engine.begin();
  const blank = ({name, units}) => ({name, units, numbers: new Float32Array(steps * units)});
  const norms = () => ({numbers: new Float32Array(place(count, 0)), columns: ofSeries && steps});
  const layers = recorded.layers.map(l => ({...l, values: l.values.map(blank)}));
  const reach = {embedding: norms(), c: recorded.reach.c && layers.map(norms), h: layers.map(norms)};
  const to = (k, name) => layers[k].values.find(v => v.name === name);
  engine.see = (k, name, step, values) => to(k, name)?.numbers.set(values, step * values.length);
  const {marks, ...changes} = run();
  for (const v of layers.flatMap(l => l.values))
    v.largest = v.numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  shownModel = -1;
  Object.assign(model(), {layers, reach, tape: null, source: null, untrained: null}, changes);
  model().agreement = engine.held.size ? null : recorded.agreement;
  needRow = t => {
    if (known.has(t) || !known.add(t)) return;
    engine.backward(marks[t] ?? marks[0], () => seed(t), (k, name, step, norm) => {
      const to = reach[name]?.[k] ?? reach[name];
      if (to) to.numbers[place(t, step)] = norm;
    });
    if (ofSeries) model().series.gradients.numbers.set(engine.gradient('x'), t * cells.length);
  };
  select({});
  letTell(`${ofSeries ? '' : sums(model())} In ${(performance.now() - start).toFixed(0)} ms.`);
  at('held').replaceChildren(...[...engine.held].map(heldButton));
  clearTimeout(timer);
  timer = setTimeout(function others() {
    for (let t = 0, end = performance.now() + 15; t < count && performance.now() < end; ++t) needRow(t);
    known.size < count ? timer = setTimeout(others) : select({});
  }, 60);
}

// The program's rule (data/text/corpus.h): a line ends once, and a written <eos> takes the blanks around it.
const wordsOf = text => text.split(/\r\n|\r|\n/).flatMap((line, k, lines) => {
  const parts = line.split(/[ \t\v\f]*(?<![^ \t\v\f])<eos>(?![^ \t\v\f])[ \t\v\f]*/);
  if (k < lines.length - 1 && (parts.length === 1 || parts.at(-1))) parts.push('');
  const split = part => letters() ? [...part] : part.split(/[ \t\v\f]+/).filter(Boolean);
  return parts.flatMap((part, j) => j ? ['<eos>', ...split(part)] : split(part));
});
const textOf = words => {
  const text = words.map(w => w === '<eos>' ? '\n' : w);
  return letters() ? text.join('') : text.join(' ').replace(/ ?\n ?/g, '\n');
};
const idByWord = new Map((live?.words ?? []).map((w, id) => [w, id]));
const idOf = w => idByWord.get(w) ?? idByWord.get('<unk>');
function logP(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b)), all = sum(logits.map(v => Math.exp(v - most)));
  return logits.map(v => v - most - Math.log(all));
}
function typedWords() {  // none where the model cannot read them, which is told
  const words = wordsOf(at('typed').value), count = words.length - (words.at(-1) === '<eos>');
  if (count > live.most) return letTell(`A page reads ${live.most} words or characters at most.`);
  const unknown = words.find(w => idOf(w) === undefined);
  return unknown ? letTell(`The model knows neither “${shown(unknown)}” nor <unk>.`) : words;
}
function readText() {
  const words = typedWords(), bits = [], rank = [], next = [], all = [];
  if (!words) return;
  if (words.at(-1) !== '<eos>') words.push('<eos>');
  const ids = words.map(idOf), input = ['<eos>', ...words.slice(0, -1)], target = ids.map(id => live.words[id]);
  const read = (id, t) => {
    const mark = engine.step(t, ids[t - 1] ?? idOf('<eos>')), p = all[t] = logP(engine.value('logits'));
    const likeliest = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, 6);
    bits.push(-p[id] / Math.LN2), rank.push(1 + p.filter(v => v > p[id]).length);
    next.push(likeliest.map(i => [live.words[i], Math.exp(p[i])]));
    return mark;
  };
  const run = () => ({marks: ids.map(read), written: words, target, input, bits, rank, next});
  const seed = t => engine.gradient('logits').set(all[t].map((v, i) => Math.exp(v) - (i === ids[t])));
  showLive(ids.length, ids.length, run, seed);
}
function writeOn() {  // until a sentence ends, 40 words at most
  const words = typedWords(), heat = Math.max(1e-3, at('heat').value), known = words?.length;
  if (!words) return;
  engine.see = () => {};
  engine.begin();
  for (let t = 0; t < Math.min(known + 40, live.most) && (t <= known || words[t - 1] !== '<eos>'); ++t) {
    engine.step(t, idOf(words[t - 1] ?? '<eos>'));
    let left = Math.random();
    const p = logP(engine.value('logits').map(v => v / heat));
    if (t >= known) words.push(live.words.at(p.findIndex(v => (left -= Math.exp(v)) < 0)));
  }
  at('typed').value = textOf(words);
  readText();
}

function readWindow() {
  const s = recorded.series, steps = recorded.input.length, size = s.shown.length;
  const {outputs, targets, target, least, most, unit: {log, shift, scale}} = live;
  // The outputs of a step of the horizon, in order of their values.
  const ordered = (y, step) => [...Array(outputs).keys()]
                                   .map(q => (q * s.times.length + step) * targets + target)
                                   .sort((a, b) => y[a] - y[b]);
  const unscaled = v =>
      Math.max(least, Math.min(most, log ? Math.exp(v * scale + shift) : v * scale + shift));
  const read = () => {
    engine.value('x').set(cells.map(c => c.scaled));
    const marks = [engine.step()], y = engine.value('forecast').slice();
    const of = q => s.times.map((_, k) => unscaled(y[ordered(y, k)[q]]));
    const gradients = {units: cells.length, numbers: new Float32Array(size * cells.length)};
    const history = s.history.map((v, row) => cells[row * live.inputs.length + live.input]?.value ?? v);
    const [low, high] = s.low ? [of(0), of(outputs - 1)] : [];
    return {marks, series: {...s, history, gradients, forecast: of(live.middle), low, high}};
  };
  const seed = t => {
    const y = engine.value('forecast'), k = ordered(y, s.shown[t])[live.middle];
    engine.gradient('forecast')[k] = s.detects ? 1 / (y[k] * (1 - y[k])) : 1;  // of a detector by its logit
  };
  showLive(steps, size, read, seed);
}
const cellPlace = () => Number(at('cell-row').value) * live.inputs.length + Number(at('cell-channel').value);
function setCell(value, place = cellPlace()) {
  const {log, shift, scale} = live.inputs[place % live.inputs.length];
  const scaled = ((log ? Math.log(value) : value) - shift) / scale;
  if (!isFinite(scaled)) return letTell('The model reads no such number.');
  cells[place] = {value, scaled};
  readWindow();
}
function takeRow(event) {
  const row = [...at('forecast').querySelectorAll('.hit')].indexOf(event.target);
  const place = row * live.inputs.length + live.input, value = cells[place]?.value ?? null;
  drag = value === null ? null : {place, value, from: event.clientY, unit: at('forecast').dataset.unit};
  if (!drag) return;
  selection.step = stepOfRow(recorded, row);
  at('cell-row').value = row, at('cell-channel').value = live.input;
}
function dragRow(event) {
  const way = drag && event.buttons ? event.clientY - drag.from : 0;
  if (Math.abs(way) > 3) setCell(drag.value - way * drag.unit, drag.place);
}

const reread = ofSeries ? readWindow : readText;
function hold() {
  const {layer} = selection, unit = at('hold-of').value ? -1 : selection.unit;
  const one = {name: at('hold-name').value, layer, unit, value: Number(at('hold-at').value)};
  const what = `${one.name} of layer ${layer + 1}, ${unit < 0 ? 'all units' : `unit ${unit + 1}`}`;
  engine.held.delete(what);  // the last one that is set acts
  reread(engine.held.set(what, one));
}
const release = what => reread(engine.held.delete(what), at('hold-at').focus());
const heldButton = ([what, {value}]) => make('button', {onclick: () => release(what)}, `${what}: ${value} ✕`);
if (live)
  panels.unshift(function liveControls() {
    needRow(selection.word);
    at('hold-at').min = isGate(at('hold-name').value) ? 0 : -1;
    if (!ofSeries) return;
    const row = at('cell-row');
    if (stepOfRow(recorded, row.value) !== selection.step) row.value = rowOfStep(recorded, selection.step);
    if (document.activeElement !== at('cell')) at('cell').value = cells[cellPlace()].value;
  });
const listen = (id, event, act) => at(id)?.addEventListener(event, act);
if (live) {
  const names = (recorded.layers[0]?.values ?? []).map(v => make('option', {value: v.name}, whatIs[v.name]));
  at('live').hidden = false, at('hold').hidden = !names.length;
  at('hold-name').append(...names);
  listen('hold-at', 'input', hold);
  listen('typed', 'input', readText);
  listen('write', 'click', writeOn);
  listen('cell-row', 'change', e => select({step: stepOfRow(recorded, e.target.value)}));
  listen('cell-channel', 'change', () => select({}));
  listen('cell', 'input', e => setCell(e.target.valueAsNumber));
  if (ofSeries) addEventListener('pointerdown', takeRow), addEventListener('pointermove', dragRow);
  if (!ofSeries) at('typed').value = textOf(recorded.written.slice(0, -1));
}
if (live && ofSeries) {
  const {rows, channels, values} = recorded.series, x = new Float32Array(bytes(live.x));
  cells = values.map((value, i) => ({value, scaled: x[i]}));
  at('cell-row').append(...rows.map((time, row) => make('option', {value: row}, time)));
  at('cell-channel').append(...channels.map((name, c) => make('option', {value: c}, shown(name))));
}
