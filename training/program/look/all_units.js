// Panel 5: all units of a layer, and how many of its gates are saturated.
const whatIs = {
  i: 'input gate',
  f: 'forget gate',
  g: 'candidate g',
  o: 'output gate',
  r: 'reset gate',
  z: 'update gate',
  n: 'candidate n',
  c: 'cell state c',
  h: 'output h'
};
const isGate = name => 'ifozr'.includes(name);

panels.push(function allUnits() {
  if (!model().layers.length) return;
  const m = model(), l = layer(), values = valuesOf(selection.gate), steps = m.input.length;
  if (at('gate').dataset.of !== `${selection.model} ${selection.layer}`) {
    at('gate').dataset.of = `${selection.model} ${selection.layer}`;
    at('gate').replaceChildren(
        ...l.values.map(v => make('option', {value: v.name}, whatIs[v.name] ?? v.name)));
  }
  at('gate').value = selection.gate;
  const card = colour('--card'), high = colour('--valid'), low = colour('--train'), ink = colour('--ink');
  const order = l.order.filter(u => u < values.units), gate = isGate(selection.gate);
  const wide = Math.max(1, Math.floor(1300 / order.length)),
        tall = Math.max(3, Math.min(12, Math.floor(420 / steps)));
  const chosen = order.indexOf(selection.unit);
  const edge = c => wide > 3 && (c === chosen * wide - 1 || c === (chosen + 1) * wide);
  const colours = [], colourOf = (step, unit) => {
    const share = values.at(step, unit) / (gate ? 1 : values.largest || 1);
    const own = mixed(card, share >= 0 ? high : low, Math.min(1, Math.abs(share)));
    return step === selection.step ? mixed(own, ink, 0.18) : own;
  };
  paint(at('all'), order.length * wide, steps, '100%', `${Math.min(460, steps * tall)}px`, (column, step) => {
    const unit = Math.floor(column / wide);
    if (edge(column) || (wide <= 3 && unit === chosen && step === 0)) return ink;
    return colours[step * order.length + unit] ??= colourOf(step, order[unit]);
  });
  at('all').setAttribute(
      'aria-label',
      `${whatIs[selection.gate] ?? selection.gate} of the ${order.length} units of layer ${
          selection.layer + 1}; unit ${selection.unit + 1} is chosen`);
  at('all-scale').textContent = gate ?
      'white is 0, orange is 1' :
      `orange up to +${digits(values.largest, 2)}, blue down to −${digits(values.largest, 2)}`;
  const saturated = l.values.filter(v => isGate(v.name)).map(v => {
    const {numbers} = valuesOf(v.name);
    let open = 0, shut = 0;
    for (const value of numbers) open += value > 0.9, shut += value < 0.1;
    return make(
        'span', {},
        `${v.name}: ${percent(open / numbers.length)} open (above 0.9), ${
            percent(shut / numbers.length)} shut (below 0.1)`);
  });
  at('saturated')
      .replaceChildren(
          ...(saturated.length ?
                  [
                    `Saturated gates of this layer, of all ${rowNoun()}s and units:`,
                    make('span', {class: 'saturation'}, ...saturated)
                  ] :
                  ['A plain cell has no gates.']));
});
at('gate').addEventListener('change', event => select({gate: event.target.value}));
function unitAt(event) {
  const order = layer().order.filter(u => u < valuesOf(selection.gate).units),
        {column, row} = cellUnder(event, at('all'));
  const unit = order[Math.floor(column * order.length / at('all').width)], steps = model().input.length;
  return {unit, step: Math.max(0, Math.min(steps - 1, Math.floor(row * steps / at('all').height)))};
}
at('all').addEventListener('click', event => {
  const {unit, step} = unitAt(event);
  if (unit !== undefined) select({unit, ...(ofSeries ? {step} : {word: step})});
});
at('all').addEventListener('pointermove', event => {
  const {unit, step} = unitAt(event);
  if (unit !== undefined)
    at('all').title = `unit ${unit + 1} after ${shown(model().input[step])}: ${
        digits(valuesOf(selection.gate).at(step, unit))}`;
});
at('all').addEventListener('keydown', event => {
  const order = layer().order.filter(u => u < valuesOf(selection.gate).units),
        now = order.indexOf(selection.unit);
  const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
  if (by === undefined && !['ArrowUp', 'ArrowDown'].includes(event.key)) return;
  event.preventDefault();
  if (by === undefined) return selectStep(selection.step + (event.key === 'ArrowUp' ? -1 : 1));
  select({unit: order[Math.max(0, Math.min(order.length - 1, now + by))]});
});
