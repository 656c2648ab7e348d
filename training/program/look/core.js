'use strict';
// What the page shows and what is selected; helpers to draw. A model's numbers are JSON in a script of its own: words as they are,
// which only ever become text nodes, and arrays in base64.
const given = [...document.querySelectorAll('script.model')].map(element => JSON.parse(element.textContent));
const models = given.filter(of => of.kind !== 'live'), live = given.find(of => of.kind === 'live');
const at = id => document.getElementById(id);
// word: what is predicted; step: of the layers, what they read. In a text the two go together.
const selection = {
  model: 0,
  word: 0,
  step: 0,
  layer: 0,
  unit: 0,
  gate: null
};
const panels = [];  // functions that draw
const model = () => models[selection.model];

function select(changes) {
  Object.assign(selection, changes);
  const m = model(), clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
  selection.word = clamp(selection.word, m.target.length);
  selection.step = ofSeries ? clamp(selection.step, m.input.length) : selection.word;
  selection.layer = clamp(selection.layer, m.layers.length);
  if (m.layers.length) {
    selection.unit = clamp(selection.unit, layer().units);
    if (!layer().values.some(v => v.name === selection.gate)) selection.gate = stateName();
  }
  for (const draw of panels) draw();
}
const layer = () => model().layers[selection.layer];
const ofSeries = models[0].kind === 'series';
for (const element of document.querySelectorAll('[data-of]'))
  if (element.dataset.of !== models[0].kind) element.remove();
// What was read, and how the page speaks of it.
const selectStep = step => select(ofSeries ? {step} : {word: step});
const rowNoun = () => ofSeries ? (model().series.segment > 1 ? 'segment' : 'row') :
    letters()                  ? 'character' :
                                 'word';
const lossName = ofSeries ? 'ŷ' : 'L';
const leastStep = () => ofSeries ? 3 : letters() ? 14 : 26;  // pixels
const stateName = () => layer().values.some(v => v.name === 'c') ? 'c' : 'h';

// --- numbers ---------------------------------------------------------------------------------------------------
function bytes(text) {
  const raw = atob(text), result = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) result[i] = raw.charCodeAt(i);
  return result.buffer;
}
const sixteenBits = of => Float32Array.from(new Int16Array(bytes(of.data)), q => q * of.largest / 32767);
// Of a gate or state: at(step, unit); 0 where the layer's h is narrower.
function valuesOf(name, k = selection.layer, m = model()) {
  const found = m.layers[k].values.find(v => v.name === name);
  if (!found) return null;
  if (!found.numbers) found.numbers = sixteenBits(found);
  return {...found, at: (step, unit) => unit < found.units ? found.numbers[step * found.units + unit] : 0};
}
// Norms by target and step: of a text a triangle, step <= target.
function norms(of) {
  if (!of.numbers) of.numbers = new Float32Array(bytes(of.data));
  return (target, step) =>
             of.numbers[of.columns ? target * of.columns + step : target * (target + 1) / 2 + step];
}
// The steps that a target knows of.
const reachedSteps = (m, target) => m.reached ? m.reached[target] : target + 1;
function digits(value, count = 3) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e5 ? value.toExponential(count - 1) : value.toPrecision(count);
}
const percent = share => share >= 0.0995 ? `${(100 * share).toFixed(0)} %` :
    share >= 0.00095 ? `${(100 * share).toFixed(1)} %` :
                       '< 0.1 %';

// --- words -----------------------------------------------------------------------------------------------------
// Characters that would not be seen, or would turn their neighbours around, as what they are called.
function shown(word) {
  if (word === '<eos>' && model().level === 'char') return '↵';
  return [...word]
      .map(c => {
        const code = c.codePointAt(0);
        if (c === ' ') return ofSeries ? c : '␣';
        if (code < 0x20) return String.fromCodePoint(0x2400 + code);
        if (code === 0x7f) return '␡';
        if (code < 0xa0 && code > 0x7f ||
            /[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u00a0]/.test(c))
          return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
        return c;
      })
      .join('');
}
const clipped = (word, most = 12) => {
  const all = [...shown(word)];
  return all.length > most ? all.slice(0, most - 1).join('') + '…' : all.join('');
};
const letters = () => model().level === 'char';
for (const element of document.querySelectorAll('[data-noun]')) element.textContent = rowNoun();
// Along an axis: times without their seconds, where none has any.
const wholeMinutes =
    ofSeries && models.every(m => [...m.input, ...m.target].every(time => /\d\d:\d\d:00$/.test(time)));
const stepText = (text, most = 12) => clipped(wholeMinutes ? text.slice(0, -3) : text, ofSeries ? 19 : most);

// --- elements --------------------------------------------------------------------------------------------------
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      element[name] = value;
    else if (name.startsWith('--'))
      element.style.setProperty(name, value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}
const word = (text, attributes = {}) => make('bdi', attributes, shown(text));
// A drawing as wide as its place, or wider where that has too little room for it.
function drawing(place, height, least, label, contents) {
  const width = Math.max(least, place.clientWidth || 600);
  const svg = draw(
      'svg',
      {viewBox: `0 0 ${width} ${height}`, width, height, class: 'fixed', role: 'img', 'aria-label': label});
  contents(svg, width);
  place.replaceChildren(svg);
}
// A line through points; null is a gap.
function pathOf(points) {
  return points.map((p, i) => p && `${i && points[i - 1] ? 'L' : 'M'}${p[0].toFixed(1)} ${p[1].toFixed(1)}`)
      .filter(Boolean)
      .join('');
}
function legend(place, entries) {
  place.replaceChildren(...entries.map(([name, style]) => make('li', {class: style}, name)));
}
// Words along a chart's axis, as many as have room.
function axisWords(svg, words, x, y, room, chosen) {
  const every = Math.max(1, Math.ceil(15 / Math.max(1, room)));
  words.forEach((text, t) => {
    if (t % every !== 0 && t !== chosen) return;
    if (t !== chosen && every > 1 && Math.abs(t - chosen) < every) return;
    svg.append(draw(
        'text', {
          class: t === chosen ? 'step-word at' : 'step-word',
          'text-anchor': 'end',
          transform: `translate(${x(t) + 4} ${y}) rotate(-48)`
        },
        stepText(text)));
  });
}

// --- colours ---------------------------------------------------------------------------------------------------
const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
function colour(variable) {
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}
const mixed = (from, to, share) => [0, 1, 2].map(i => Math.round(from[i] + (to[i] - from[i]) * share));
// Orange above zero, blue below, of a share in [-1, 1].
const backOf = share => share === 0 ? 'transparent' :
                                      `color-mix(in srgb, var(${share > 0 ? '--valid' : '--train'}) ${
                                          (Math.min(1, Math.abs(share)) * 62).toFixed(1)}%, transparent)`;
// A canvas of so many cells; paint(column, row) is the colour [r, g, b], or null where there is none.
function paint(canvas, columns, rows, width, height, colourOf) {
  canvas.width = columns, canvas.height = rows;
  canvas.style.width = width, canvas.style.height = height;
  canvas.style.imageRendering = 'pixelated';
  const {data} = new ImageData(columns, rows);
  for (let row = 0, at = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column, at += 4) {
      const c = colourOf(column, row);
      if (c) data[at] = c[0], data[at + 1] = c[1], data[at + 2] = c[2], data[at + 3] = 255;
    }
  canvas.getContext('2d').putImageData(new ImageData(data, columns), 0, 0);
}
function cellUnder(event, canvas) {
  const frame = canvas.getBoundingClientRect();
  return {
    column: Math.floor((event.clientX - frame.left) / frame.width * canvas.width),
    row: Math.floor((event.clientY - frame.top) / frame.height * canvas.height)
  };
}
