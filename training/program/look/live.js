// Runs the model of a page of `look --live`: a list of calls to the kernels of export/step_kernels.h, forward and backward. Each call leaves
// in a record what it overwrote. So the way back finds every array as that call left it.

// A kernel of single numbers. value: the new y of the old y, a, b and the call's number k. The slopes by y, a and b know the new y, too.
const each = (value, ofY, ofA, ofB) => ({
  forward({sizes: [n, apart = 1, apartA = 1], numbers: [k]}, [y, a, b]) {
    for (let i = 0; i < n; ++i) y[i * apart] = value(y[i * apart], a?.[i * apartA], b?.[i], k);
  },
  backward({sizes: [n, apart = 1, apartA = 1], numbers: [k]}, old, [y, a, b], [gy, ga, gb]) {
    for (let i = 0; i < n; ++i) {
      const at = i * apart, of = [old[at], a?.[i * apartA], b?.[i], k, y[at]], g = gy[at];
      if (ofA) ga[i * apartA] += g * ofA(...of);
      if (ofB) gb[i] += g * ofB(...of);
      gy[at] = g * ofY(...of);
    }
  }
});
const one = () => 1, none = () => 0, sum = of => of.reduce((all, v) => all + v, 0);
const within = (x, most) => Math.max(-most, Math.min(most, x));
// y += W x, four rows at once. A view ends where its rows do, so what is written behind it goes nowhere.
function addProducts(y, x, w) {
  for (let i = 0, at = 0; i < y.length; i += 4, at += 3 * x.length) {
    let a = 0, b = 0, c = 0, d = 0;
    for (let k = 0; k < x.length; ++k, ++at) {
      a += w[at] * x[k], b += w[at + x.length] * x[k];
      c += w[at + 2 * x.length] * x[k], d += w[at + 3 * x.length] * x[k];
    }
    y[i] += a, y[i + 1] += b, y[i + 2] += c, y[i + 3] += d;
  }
}
const kernels = {
  zero: each(none, none),
  copy: each((y, a) => a, none, one),
  add: each((y, a) => y + a, one, one),
  subtract: each((y, a) => y - a, one, () => -1),
  multiply: each((y, a) => y * a, (y, a) => a, y => y),
  multiply_add: each((y, a, b) => y + a * b, one, (y, a, b) => b, (y, a) => a),
  scale: each((y, a, b, k) => k * y, (y, a, b, k) => k),
  one_minus: each((y, a) => 1 - a, none, () => -1),
  mix: each((y, a, b) => a * y + (1 - a) * b, (y, a) => a, (y, a, b) => y - b, (y, a) => 1 - a),
  carry: each((y, a, b, k) => (1 - k) * y + k * a, (y, a, b, k) => 1 - k, (y, a, b, k) => k),
  clip: each((y, a, b, k) => within(y, k), (y, a, b, k) => +(Math.abs(y) < k)),
  sigmoid: each(y => 1 / (1 + Math.exp(-y)), (y, a, b, k, v) => v * (1 - v)),
  tanh: each(y => Math.tanh(y), (y, a, b, k, v) => 1 - v * v),
  hard_sigmoid: each(y => within(y / 3, 1) / 2 + 0.5, y => +(Math.abs(y) < 3) / 6),
  hard_tanh: each(y => within(y, 1), y => +(Math.abs(y) < 1)),
  softsign: each(y => y / (1 + Math.abs(y)), y => (1 + Math.abs(y)) ** -2),
  relu: each(y => Math.max(0, y), y => +(y > 0)),
  product: {
    forward: ({sizes: [n]}, [y, x, w]) => addProducts(y, x.subarray(0, n), w.turned),
    backward: ({sizes: [n]}, old, [, , w], [gy, gx]) =>
        gy.some(g => g) && addProducts(gx.subarray(0, n), gy, w)
  },
  column: {
    forward: (c, [y, w], token) => y.forEach((v, i) => { y[i] = w[i * c.sizes[1] + token]; }),
    backward: (c, old, own, [gy]) => gy.fill(0)
  },
  standardize: {
    forward({sizes: [rows, columns, some, window]}, [y, means, deviations]) {
      for (let k = 0; k < some; ++k) {
        let mean = 0, spread = 1e-5;
        for (let at = k; at < window * columns; at += columns) mean += y[at] / window;
        for (let at = k; at < window * columns; at += columns) spread += (y[at] - mean) ** 2 / window;
        means[k] = mean, deviations[k] = Math.sqrt(spread);
        for (let at = k; at < rows * columns; at += columns) y[at] = (y[at] - mean) / deviations[k];
      }
    },
    // dx = dy/s + (dm - Σ dy/s + (ds - Σ dy·y/s)·y) / window, as in examples/timeseries/networks/model.cpp
    backward({sizes: [rows, columns, some, window]}, old, [y, , deviations], [gy, gm, gs]) {
      for (let k = 0; k < some; ++k) {
        for (let at = k; at < rows * columns; at += columns)
          gy[at] /= deviations[k], gm[k] -= gy[at], gs[k] -= gy[at] * y[at];
        for (let at = k; at < window * columns; at += columns) gy[at] += (gm[k] + gs[k] * y[at]) / window;
        gm[k] = gs[k] = 0;
      }
    }
  }
};
kernels.move = kernels.copy, kernels.add_apart = kernels.add;

// The engine's see(layer, name, step, values) is told each gate and state; `held` has {layer, name, unit, value}, unit -1 for all of them.
function makeEngine({bits, arrays, calls, target = 0}) {
  const A = arrays.map(({size, data, scale, out}) => {
    if (!scale) return data ? Float64Array.from(new Float32Array(bytes(data))) : new Float64Array(size);
    const rounded = bits === 16 ? new Int16Array(bytes(data)) : new Int8Array(bytes(data));
    const by = new Float32Array(bytes(scale)), n = size / out;
    const w = Float64Array.from(rounded, (q, i) => Math.fround(q * by[i % out]));  // [n][out]
    return Object.assign(w, {turned: w.map((_, i) => w[i % n * out + Math.floor(i / n)])});
  });
  const G = A.map(a => a.turned ? undefined : new Float64Array(a.length));
  const held = new Map(), record = [], unrolled = [], number = name => arrays.findIndex(a => a.name === name);
  const part = (array, from, size) => array?.subarray(from, size ? from + size : undefined);
  function unroll(i, turns) {  // from a call to the end of its loop, whose place it returns
    for (; i < calls.length && calls[i].kernel !== 'end'; ++i) {
      const c = calls[i], first = i + 1, seen = turns.length < 2 || turns[0] === target ? c.seen ?? [] : [];
      const place = (at, by) => at + sum(turns.map((turn, k) => turn * by[k]));
      const view = (a, [, at, ...by], n) => a?.turned ? a : part(a, place(at, by), n ? 0 : c.size);
      const views = of => c.places.map((p, n) => view(of[p[0]], p, n));
      for (let turn = 0; turn < c.sizes[0] && c.kernel === 'loop'; ++turn)
        i = unroll(first, [...turns, turn]);
      if (c.kernel === 'loop') continue;
      const ends = (of, {array, from, size}) => part(of[array], from, size);
      const watched = seen.map(w => ({...w, values: ends(A, w), gradient: ends(G, w)}));
      unrolled.push({...c, step: turns.at(-1), own: views(A), gradients: views(G), watched});
    }
    return i;
  }
  unroll(0, []);
  const hold = (values, {layer, name, size}, to) => {
    for (const one of held.values())
      if (one.layer === layer && one.name === name)
        values.fill(to ?? one.value, Math.max(0, one.unit), one.unit < 0 ? size : one.unit + 1);
  };
  return {
    held,
    value: name => A[number(name)],
    gradient: name => G[number(name)],
    begin: () => { record.length = 0, A.forEach((a, k) => arrays[k].state && a.fill(0)); },
    step(now, token) {  // returns what backward() begins from
      for (const c of unrolled) {
        const step = c.step ?? now;
        record.push({c, step, old: c.own[0].slice()});
        kernels[c.kernel].forward(c, c.own, token);
        for (const w of c.watched) hold(w.values, w), this.see(w.layer, w.name, step, w.values);
      }
      return {length: record.length, arrays: A.map((a, k) => G[k] && a.slice())};
    },
    // Gradients of what seed() puts into gradients after a step. told(layer, name, step, norm): of each gate and state.
    backward(after, seed, told) {
      after.arrays.forEach((a, k) => a && (A[k].set(a), G[k].fill(0)));
      seed();
      for (const {c, step, old} of record.slice(0, after.length).reverse()) {
        for (const w of c.watched)
          told(w.layer, w.name, step, Math.hypot(...w.gradient)), hold(w.gradient, w, 0);
        kernels[c.kernel].backward(c, old, c.own, c.gradients);
        c.own[0].set(old);
      }
    }
  };
}
