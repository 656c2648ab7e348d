// Panels 7 and 8: agreement of verbs, and one model against another.
const styles = ["of-c", "of-h"];  // of the first and the second model

panels.push(function agreement() {
  const m = model();
  at("agreement-panel").hidden = !m.agreement;
  if (!m.agreement) return;
  const rows = m.agreement.by_attractors, most = Math.min(...rows.map(r => r.low), 0.9);
  const from = Math.max(0, Math.floor(most * 20) / 20 - 0.05);
  at("agreement-text").textContent = "Does the verb have the number of its subject? By the number of nouns of the other number in between: the share of cases in which the model " +
    "finds the right form likelier than the wrong one (chases, chase), with its 95 % interval.";
  drawing(at("agreement"), 62 + 34 * rows.length, 500, "Agreement by number of attractors", (svg, width) => {
    const left = 90, right = width - 235, x = share => left + (right - left) * (share - from) / (1 - from);
    const apart = 0.05 * Math.ceil((1 - from) / 0.2 - 1e-9);  // whole percents, five ticks at most
    const ticks = [0, 1, 2, 3, 4].map(i => 1 - i * apart).filter(tick => tick > from - 1e-9);
    for (const tick of ticks)
      svg.append(draw("line", {class: "grid", x1: x(tick), x2: x(tick), y1: 8, y2: 20 + 34 * rows.length}),
        draw("text", {x: x(tick), y: 38 + 34 * rows.length, "text-anchor": "middle"}, `${(100 * tick).toFixed(0)} %`));
    rows.forEach((row, i) => {
      const y = 26 + 34 * i;
      svg.append(draw("text", {x: left - 12, y: y + 4, "text-anchor": "end"}, `${row.attractors} between`),
        draw("line", {x1: x(row.low), x2: x(row.high), y1: y, y2: y, style: "stroke: var(--train); stroke-width: 7; opacity: 0.35; stroke-linecap: round"}),
        draw("circle", {class: "of-c", cx: x(row.share), cy: y, r: 5.5}),
        draw("text", {x: right + 14, y: y + 4}, `${(100 * row.share).toFixed(1)} % of ${row.cases}; mean p ${row.p_right.toFixed(4)}`));
    });
  });
  const units = [["verbs of a single main clause", m.agreement.unit_of_main_clauses], ["verbs in all", m.agreement.unit_of_all_verbs]];
  at("agreement-unit").replaceChildren(...units.filter(([, unit]) => unit).map(([verbs, unit]) => make("p", {},
    `The single unit that tells the number best of ${unit.cases} ${verbs}, in ${(100 * unit.share).toFixed(1)} %: `,
    make("button", {onclick: () => select({layer: unit.layer - 1, unit: unit.unit - 1})}, `layer ${unit.layer} unit ${unit.unit}`))));
});

panels.push(function against() {
  at("against-panel").hidden = models.length < 2;
  if (models.length < 2) return;
  at("against-text").textContent = `${models.map(m => `${m.title}: ${m.summary}.`).join(" ")} Their bits for each word, and how far back the loss of the chosen word reaches in each. The choice at the top of the page says whose panels stand above.`;
  legend(at("against-legend"), models.map((m, i) => [m.title, styles[i]]));
  const t = selection.word, steps = models[0].target.length, most = Math.max(...models.flatMap(m => m.bits), 1);
  drawing(at("against-chart"), 250, 60 + steps * (letters() ? 14 : 26), "Bits of each word", (svg, width) => {
    const left = 40, right = width - 8, step = (right - left) / steps, x = s => left + (s + 0.5) * step, y = v => 160 - 148 * v / most;
    svg.append(draw("rect", {class: "at-step", x: x(t) - step / 2, y: 8, width: step, height: 154}));
    for (const v of [0, Math.ceil(most / 2), Math.floor(most)])
      svg.append(draw("line", {class: "grid", x1: left, x2: right, y1: y(v), y2: y(v)}), draw("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, v));
    models.forEach((m, i) => {
      const wide = Math.min(10, step / 2.4);
      m.bits.forEach((bits, s) => svg.append(draw("rect", {x: x(s) + (i - 1) * wide, width: Math.max(1, wide - 1), y: y(bits), height: Math.max(0.5, 160 - y(bits)),
        style: `fill: var(${i ? "--train" : "--valid"})`}, draw("title", {}, `${m.title}: ${bits.toFixed(2)} bits`))));
    });
    axisWords(svg, models[0].target, x, 178, step, t);
    for (let s = 0; s < steps; ++s) svg.append(draw("rect", {class: "hit", x: x(s) - step / 2, y: 0, width: step, height: 164, onclick: () => select({word: s})}));
  });
  at("against-reach").replaceChildren();
  const kinds = models.some(m => m.reach.c) ? ["c", "h"] : ["h"];
  const charts = kinds.map(kind => {
    const chart = make("div", {});
    at("against-reach").append(make("div", {}, make("h3", {}, `|∂L/∂${kind}|, layer ${selection.layer + 1}, of “${clipped(models[0].written[t], 24)}”`), chart));
    return chart;
  });  // all of them before one is drawn: they share the width
  for (const [n, kind] of kinds.entries()) {
    const curves = models.flatMap((m, i) => m.reach[kind]
      ? reachCurves(m, t, Math.min(selection.layer, m.layers.length - 1)).filter(c => c.kind === kind).map(c => ({...c, name: m.title, style: styles[i]})) : []);
    logChart(charts[n], curves, models[0].input.slice(0, t + 1), t, `|∂L/∂${kind}| of both models`);
  }
  const row = (name, of) => make("tr", {}, make("th", {scope: "row"}, name), ...models.map(m => make("td", {class: "number"}, of(m))));
  const mean = m => m.bits.reduce((a, b) => a + b, 0) / m.bits.length;
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", {}), ...models.map(m => make("th", {class: "number", title: m.summary}, m.title)))),
    make("tbody", {}, row("bits a word, this text", m => mean(m).toFixed(3)), row("perplexity, this text", m => digits(2 ** mean(m), 4)),
      row("words that it alone predicts better", m => m.bits.filter((bits, s) => models.every(other => other === m || bits < other.bits[s])).length)));
  const counts = [...new Set(models.flatMap(m => m.agreement ? m.agreement.by_attractors.map(r => r.attractors) : []))];
  for (const count of counts)
    table.tBodies[0].append(row(`agreement, ${count} between`, m => {
      const found = m.agreement?.by_attractors.find(r => r.attractors === count);
      return found ? `${(100 * found.share).toFixed(1)} %` : "–";
    }));
  at("against-table").replaceChildren(table);
});
