// What is chosen at the top of the page, by mouse and by key; then the first drawing.
at('previous').addEventListener('click', () => select({word: selection.word - 1}));
at('next').addEventListener('click', () => select({word: selection.word + 1}));
document.addEventListener('keydown', event => {
  if (event.altKey || event.ctrlKey || event.metaKey ||
      event.target.closest('input, select, textarea, canvas, .scroll'))
    return;
  const to = {
    ArrowLeft: selection.word - 1,
    ArrowRight: selection.word + 1,
    Home: 0,
    End: model().target.length - 1
  }[event.key];
  if (to === undefined || (['Home', 'End'].includes(event.key) && !event.target.closest('#words'))) return;
  event.preventDefault();
  const among = document.activeElement?.closest('#words');
  select({word: to});
  if (among) at(`word-${selection.word}`).focus();
});
at('layer').addEventListener('change', event => select({layer: Number(event.target.value)}));
at('model').addEventListener('change', event => select({model: Number(event.target.value)}));

// The page's rules for dark systems are rules of a media query: the button says whether they are in force.
const darkRules = [...document.styleSheets]
                      .flatMap(sheet => [...sheet.cssRules])
                      .filter(rule => rule.media?.mediaText.includes('prefers-color-scheme'));
let dark = matchMedia('(prefers-color-scheme: dark)').matches;
function setDark(wanted) {
  dark = wanted;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  for (const rule of darkRules) rule.media.mediaText = dark ? 'screen' : 'not all';
  at('theme').setAttribute('aria-pressed', dark);
  select({});
}
at('theme').addEventListener('click', () => setDark(!dark));

panels.unshift(function heading() {
  const m = model();
  document.title = `${m.title}: a look inside`;
  at('title').textContent = `${m.title}, ${
      ofSeries ? `${m.series.detects ? 'detecting' : 'forecasting'} ${shown(m.series.target)}` :
          letters() ? 'letter by letter' :
                      'word by word'}`;
  at('summary').textContent = m.summary;
  const layered = m.layers.length > 0;
  for (const id of ['unit-panel', 'reach-panel', 'all-panel', 'of-layer']) at(id).hidden = !layered;
  at('no-layers').hidden = layered;
  if (!layered)
    at('no-layers').textContent = m.no_layers ??
        `This model has no recurrent layers, so it has no units, gates or states to show: it forecasts by ${
            m.made_of}.`;
  if (Number(at('layer').dataset.count) !== m.layers.length) {
    at('layer').dataset.count = m.layers.length;
    at('layer').replaceChildren(...m.layers.map((_, k) => make('option', {value: k}, String(k + 1))));
  }
  at('layer').value = selection.layer;
  at('model').value = selection.model;
});
document.querySelector('.of-models').hidden = models.length < 2;
at('model').replaceChildren(...models.map((m, i) => make('option', {value: i}, m.title)));
at('made').textContent = models[0].made;
for (const [id, which] of [['previous', 'before'], ['next', 'after']])
  at(id).setAttribute('aria-label', `${ofSeries ? 'Row of the forecast' : 'Word'} ${which}`);
let resized = 0;
addEventListener('resize', () => {
  clearTimeout(resized);
  resized = setTimeout(() => select({}), 80);
});
matchMedia('print').addEventListener('change', () => select({}));

// A unit that tells something, and a word in the middle of the text, show more than the first of each. Of a window the last step.
{
  const best = model().offered[0];
  selection.word = Math.min(model().start, model().target.length - 1);
  if (ofSeries) selection.step = stepOfRow(model(), model().series.rows.length - 1);
  if (best) selection.layer = best.layer, selection.unit = best.unit;
}
setDark(dark);
