#!/usr/bin/env python3
"""Has headless Chromium open pages of `ptb look` and `timeseries look` and use them as a reader does: by mouse and by key, in light and dark, from 360 to
1,600 pixels, on paper. What the panels then say is compared with the page's numbers.

Usage: look_test.py PTB TIMESERIES      ends with 77, which Meson calls skipped, where there is no Chromium or Selenium
"""
import argparse
import base64
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select
except ImportError:
    debians = "/usr/bin/python3"  # another Python may stand before it in the path, which does not see Debian's packages
    if pathlib.Path(debians).exists() and not os.path.samefile(sys.executable, debians):
        os.execv(debians, [debians, *sys.argv])
    print("skipped: no Selenium for Python: apt-get install python3-selenium")
    sys.exit(77)

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
RECIPE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "tiny.toml"
TEXT = "the dog that the men near the trucks wash often chases the cats .\nif every man sleeps then some dogs run ."
HOSTILE = ["</script>", "<img/src=x/onerror=alert(1)>", "\"quoted\"", "&amp;", "שלום", "\u202eturned", "y" * 300, "a\x01b"]


SERIES = """[model]
hidden = 8
layers = 2
[data]
window = 16
horizon = 4
period = 8
[training]
epochs = 3
"""


SEGMENTS = [word for option in ("training.loss=quantile", "model.architecture=segment-rnn", "model.segment=4", "model.normalization=last")
            for word in ("--set", option)]


def series():
    values = [(math.sin(t * 0.785) + t % 5 * 0.1, math.cos(t * 0.785) + t % 3 * 0.1) for t in range(160)]
    return "date,load,<b>wind & co\n" + "".join(f"2021-05-{1 + t // 24:02} {t % 24:02}:00,{a:.4f},{b:.4f}\n" for t, (a, b) in enumerate(values))


def runner(program, folder):
    def run(*words):
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


def make_series_pages(timeseries, folder):
    run = runner(timeseries, folder)
    (folder / "series.toml").write_text(SERIES)
    (folder / "wave.csv").write_text(series())
    for name, options in {"lstm": [], "gru": ["model.cell=gru", "data.window=12"], "sums": ["model.architecture=linear", "model.normalization=last"]}.items():
        # A linear model reads none of the keys of layers.
        recipe = "series.toml" if name != "sums" else "sums.toml"
        (folder / "sums.toml").write_text(SERIES.replace("hidden = 8\nlayers = 2\n", ""))
        run("train", recipe, "--csv", "wave.csv", "--out", name, *(word for option in options for word in ("--set", option)))
    run("train", "series.toml", "--csv", "wave.csv", "--out", "deciles", *SEGMENTS)
    run("look", "deciles/best.safetensors", "--csv", "wave.csv", "--out", "deciles.html")
    rows = series().splitlines()
    (folder / "rises.csv").write_text("".join(f"{row},{label}\n" for row, label in zip(rows, ["rises", *(k % 3 // 2 for k in range(len(rows) - 1))])))
    (folder / "detector.toml").write_text(SERIES.replace("horizon = 4\nperiod = 8\n", 'label = "rises"\n'))
    run("train", "detector.toml", "--csv", "rises.csv", "--out", "detector")
    run("look", "detector/best.safetensors", "--csv", "rises.csv", "--out", "detector.html")
    run("look", "lstm/best.safetensors", "--against", "gru/best.safetensors", "--csv", "wave.csv", "--out", "series.html")
    run("look", "sums/best.safetensors", "--csv", "wave.csv", "--out", "sums.html")


def make_pages(ptb, folder):
    run = runner(ptb, folder)
    shutil.copy(RECIPE, folder)
    run("train", "tiny.toml", "--out", "first")
    run("train", "tiny.toml", "--out", "second", "--set", "model.cell=gru")
    run("look", "first/last.safetensors", "--text", TEXT, "--out", "one.html")
    run("look", "first/last.safetensors", "--against", "second/last.safetensors", "--text", TEXT, "--out", "two.html")
    (folder / "text").mkdir()
    for split in ("train", "valid", "test"):
        (folder / "text" / f"{split}.txt").write_text((" ".join(HOSTILE) + " <unk>\n") * 60, encoding="utf-8")
    run("train", "tiny.toml", "--out", "hostile", "--data", "text", "--set", "data.corpus=text", "--set", "model.cell=rnn")
    run("look", "hostile/last.safetensors", "--text", " ".join(HOSTILE) + " unheard-of again", "--out", "hostile.html")
    run("train", "tiny.toml", "--out", "letters", "--data", "text", "--set", "data.corpus=text", "--set", "data.level=char", "--set", "model.cell=gru")
    run("look", "letters/last.safetensors", "--text", "quoted \u202etab\nx & y", "--out", "letters.html")


def start():
    options = Options()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class Page:
    def __init__(self, driver, path):
        self.driver = driver
        driver.get_log("performance")
        driver.get(path.as_uri())
        self.models = driver.execute_script("return JSON.parse(JSON.stringify([...document.querySelectorAll('script.model')].map(e => JSON.parse(e.textContent))))")

    def of(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.of(name).text

    def click(self, name):
        """In the middle of the window, not under the bar at its top."""
        element = self.of(name)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def width(self, pixels, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_script("select({})")

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def background(self):
        return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")

    def check_quiet(self):
        """No error in the console, and no request but for the page itself."""
        for entry in self.driver.get_log("browser"):
            assert entry["level"] not in ("SEVERE", "WARNING"), entry
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith("file://") and url.endswith(".html"), f"a request to {url}"


def number_of(model, k, name, step, unit):
    values = next(v for v in model["layers"][k]["values"] if v["name"] == name)
    raw = base64.b64decode(values["data"])
    return struct.unpack_from("<h", raw, 2 * (step * values["units"] + unit))[0] * values["largest"] / 32767


def norm_at(norms, target, step):
    at = target * norms["columns"] + step if "columns" in norms else target * (target + 1) // 2 + step
    return struct.unpack_from("<f", base64.b64decode(norms["data"]), 4 * at)[0]


def same(shown, value):
    return math.isclose(float(shown), value, rel_tol=6e-3, abs_tol=1e-12)


def selected(page, word):
    model = page.models[0]
    assert page.text("selected").startswith(f"{word + 1} of {len(model['target'])}: "), page.text("selected")
    assert page.of(f"word-{word}").get_attribute("aria-pressed") == "true"
    assert f"{model['bits'][word]:.1f} bits" in page.text("selected")


def check_words(page):
    model = page.models[0]
    page.click("word-9")
    selected(page, 9)
    page.press(Keys.ARROW_RIGHT)
    selected(page, 10)
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    selected(page, 8)
    page.press(Keys.END)
    selected(page, len(model["target"]) - 1)
    assert not page.of("next").is_enabled()
    page.press(Keys.HOME)
    selected(page, 0)
    page.click("next")
    selected(page, 1)
    page.click("word-10")
    likeliest = [b.text for b in page.driver.find_elements(By.CSS_SELECTOR, "#expected > div:first-child .bars bdi")]
    assert likeliest[:6] == [word for word, _ in model["next"][10]], likeliest
    source = [b.text for b in page.driver.find_elements(By.CSS_SELECTOR, "#expected > div:nth-child(2) .bars bdi")]
    assert source[: len(model["source"][10]["next"])] == [word for word, _ in model["source"][10]["next"]], source
    perplexity = 2 ** (sum(model["bits"]) / len(model["bits"]))
    assert same(page.text("surprise-sums").split("perplexity ")[1].split(".")[0] + "." + page.text("surprise-sums").split("perplexity ")[1].split(".")[1], perplexity)


def check_unit(page):
    model = page.models[0]
    page.click("word-10")
    field = page.of("unit")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("7")
    for k in (1, 0):
        Select(page.of("layer")).select_by_value(str(k))
        text = page.text("unit-values")
        assert f"layer {k + 1}, unit 7" in text, text
        for name in ("c", "h", "i", "f", "g", "o"):
            shown = text.split(f"{name} = ")[1].split()[0]
            assert same(shown, number_of(model, k, name, 10, 6)), (name, shown, number_of(model, k, name, 10, 6))
    if model["offered"]:
        first = page.driver.find_element(By.CSS_SELECTOR, "#offered button")
        page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", first)
        first.click()
        best = model["offered"][0]
        assert f"layer {best['layer'] + 1}, unit {best['unit'] + 1}" in page.text("unit-values")
    # The heat map: by key along the order, by click into it.
    canvas = page.of("all")
    canvas.send_keys(Keys.ARROW_RIGHT)
    order = model["layers"][page.driver.execute_script("return selection.layer")]["order"]
    now = page.driver.execute_script("return selection.unit")
    canvas.send_keys(Keys.ARROW_LEFT)
    assert order.index(page.driver.execute_script("return selection.unit")) == max(0, order.index(now) - 1)
    page.driver.execute_script("document.getElementById('all').scrollIntoView({block: 'center'})")
    ActionChains(page.driver).move_to_element_with_offset(canvas, -canvas.size["width"] // 2 + 3, 0).click().perform()
    assert page.driver.execute_script("return selection.unit") == order[0]
    for gate in ("f", "h", "c"):
        Select(page.of("gate")).select_by_value(gate)
        assert page.driver.execute_script("return selection.gate") == gate


def check_gradients(page):
    model = page.models[0]
    Select(page.of("layer")).select_by_value("0")
    page.click("word-11")
    text = page.text("reach-values")
    for kind in ("c", "h"):
        first, last = text.split(f"|∂L/∂{kind}| ")[1].rstrip(".").split(";")[0].split(" → ")
        assert same(first, norm_at(model["reach"][kind][0], 11, 11)), text
        assert same(last.rstrip("."), norm_at(model["reach"][kind][0], 11, 4)), text
    canvas = page.of("rests")
    page.driver.execute_script("document.getElementById('rests').scrollIntoView({block: 'center'})")
    side = canvas.size["height"] / len(model["target"])
    ActionChains(page.driver).move_to_element_with_offset(canvas, -canvas.size["width"] // 2 + 4, int(5.5 * side - canvas.size["height"] / 2)).click().perform()
    selected(page, 5)
    canvas.send_keys(Keys.ARROW_DOWN)
    selected(page, 6)
    norms = [norm_at(model["reach"]["embedding"], 6, s) for s in range(7)]
    most = model["input"][norms.index(max(norms))]
    assert page.text("rests-values").startswith(f"The prediction of {model['written'][6]} rests most on {most} ("), page.text("rests-values")


def check_tape(page):
    model = page.models[0]
    names = [o["name"] for o in model["tape"]["operations"]]
    nodes = page.driver.find_elements(By.CSS_SELECTOR, "#tape .node")
    assert 20 < len(nodes) <= len(names)
    page.click("play-step")
    assert "softmax_cross_entropy" in page.text("tape-values")
    page.click("play-step")
    text = page.text("tape-values")
    assert "linear" in text and "y = x wᵀ + b" in text and "decoder.weight" in text and "framework/ops" in text, text
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#tape .node.played")) == 2
    shown = page.driver.execute_script("return [...document.querySelectorAll('#tape .node')].every(n => equations[n.getAttribute('aria-label').split(' ')[0]])")
    assert shown, "an operation without its equation"
    page.click("play")
    page.driver.execute_script("for (let k = 0; k < 100; ++k) playOne()")
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#tape .node.played")) == len(nodes)
    page.click("play-reset")
    assert not page.driver.find_elements(By.CSS_SELECTOR, "#tape .node.played")


def settled(check):
    """A page draws itself anew a little after its width has changed; what was found before is gone then."""
    for _ in range(50):
        try:
            return check()
        except StaleElementReferenceException:
            pass
    return check()


def check_names(page):
    for element in page.driver.find_elements(By.CSS_SELECTOR, "button, select, input, canvas, [role=img], [role=group]"):
        if element.is_displayed():
            assert element.accessible_name.strip(), f"no accessible name: {element.get_attribute('outerHTML')[:120]}"


def check_look(page):
    page.scheme("light")
    page.driver.refresh()
    light = page.background()
    page.click("theme")
    dark = page.background()
    assert light != dark
    page.click("theme")
    assert page.background() == light
    page.scheme("dark")
    page.driver.refresh()
    assert page.background() == dark
    page.click("theme")
    assert page.background() == light
    page.scheme("light")
    page.driver.refresh()
    for width in (360, 480, 768, 1024, 1600):
        page.width(width)
        wide = page.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} pixels at a width of {width}"
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    settled(lambda: check_names(page))
    assert len(base64.b64decode(page.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])) > 20000
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.driver.find_element(By.CLASS_NAME, "bar").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def check_agreement(page):
    model = page.models[0]
    assert page.of("agreement-panel").is_displayed()
    for row in model["agreement"]["by_attractors"]:
        assert f"{100 * row['share']:.1f} % of {row['cases']}" in page.text("agreement"), page.text("agreement")
    for name in ("unit_of_main_clauses", "unit_of_all_verbs"):
        unit = model["agreement"][name]
        told = page.text("agreement-unit")
        assert f"{unit['cases']} verbs" in told and f"{100 * unit['share']:.1f} %" in told, told
    button = page.driver.find_element(By.CSS_SELECTOR, "#agreement-unit p:last-child button")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    assert f"layer {unit['layer']}, unit {unit['unit']}" in page.text("unit-values")
    assert not page.of("against-panel").is_displayed()


def check_pair(page):
    assert page.of("against-panel").is_displayed()
    Select(page.of("model")).select_by_value("1")
    assert "second/last" in page.text("title")
    page.click("word-3")
    assert f"{page.models[1]['bits'][3]:.1f} bits" in page.text("selected")
    assert [o.get_attribute("value") for o in Select(page.of("gate")).options] == ["r", "z", "n", "h"]
    assert "∂L/∂h" in page.text("reach-values") and "∂L/∂c" not in page.text("reach-values")
    Select(page.of("model")).select_by_value("0")
    assert "first/last" in page.text("title") and "∂L/∂c" in page.text("reach-values")


def check_hostile(page):
    assert page.driver.execute_script("return document.querySelectorAll('img, main script').length") == 0
    texts = [b.get_attribute("textContent") for b in page.driver.find_elements(By.CSS_SELECTOR, "#words bdi")]
    for word in HOSTILE[:5] + ["y" * 300]:
        assert word in texts, word
    assert "⟨U+202E⟩turned" in texts and "a␁b" in texts, texts
    assert page.models[0]["target"][len(HOSTILE)] == "<unk>" and texts[len(HOSTILE)] == "unheard-of"
    page.click(f"word-{len(HOSTILE)}")
    page.width(360)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def check_series(page):
    model = page.models[0]
    series = model["series"]
    assert "forecasting load" in page.text("title")
    assert page.text("selected").startswith(f"1 of 4: {series['times'][0]} forecast "), page.text("selected")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    shown = page.text("selected")
    assert shown.startswith(f"3 of 4: {series['times'][2]} "), shown
    forecast, truth = shown.split("forecast ")[1].split(", truth ")
    assert same(forecast, series["forecast"][2]) and same(truth, series["truth"][2])
    # What the chosen row rests on: the four strongest gradients.
    gradients, channels = series["gradients"], series["channels"]
    raw = base64.b64decode(gradients["data"])
    of = {(row, c): struct.unpack_from("<h", raw, 2 * (2 * gradients["units"] + row * len(channels) + c))[0] * gradients["largest"] / 32767
          for row in range(16) for c in range(len(channels))}
    (row, channel), value = max(of.items(), key=lambda item: abs(item[1]))
    text = page.text("influence-values")
    assert text.startswith(f"The forecast of {series['times'][2]} rests most on {channels[channel]} of {series['rows'][row]} ({'+' if value > 0 else '−'}"), text
    assert same(text.split("(")[1].split(")")[0].lstrip("+−"), abs(value)), text
    assert channels[1] == "<b>wind & co" and "<b>wind & co" in page.driver.execute_script("return document.getElementById('channel-names').textContent")
    # A step of the window by key, then a unit by its number.
    canvas = page.of("channel-map")
    before = page.driver.execute_script("return selection.step")
    canvas.send_keys(Keys.ARROW_LEFT)
    step = page.driver.execute_script("return selection.step")
    assert (before, step) == (15, 14)
    field = page.of("unit")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("5")
    Select(page.of("layer")).select_by_value("1")
    text = page.text("unit-values")
    assert "layer 2, unit 5" in text and series["rows"][14] in text, text
    for name in ("c", "h", "i", "f", "g", "o"):
        assert same(text.split(f"{name} = ")[1].split()[0], number_of(model, 1, name, 14, 4)), (name, text)
    text = page.text("reach-values")
    for kind in ("c", "h"):
        first, last = text.split(f"|∂ŷ/∂{kind}| ")[1].rstrip(".").split(";")[0].split(" → ")
        assert same(first, norm_at(model["reach"][kind][1], 2, 15)) and same(last, norm_at(model["reach"][kind][1], 2, 8)), text
    page.click("play-step")
    assert "sum" in page.text("tape-values")
    assert page.driver.execute_script("return model().tape.operations.every(o => equations[o.name])"), "an operation without its equation"
    page.click("influence")
    assert page.driver.execute_script("return document.querySelectorAll('#words, #rests, #agreement-panel, main script, b').length") == 0
    assert [h.text.split(" · ")[-1] for h in page.driver.find_elements(By.TAG_NAME, "h2") if h.is_displayed()][-1] == "Against"
    assert "gru/best" in page.text("against-table") and page.of("against-reach").find_elements(By.TAG_NAME, "svg")
    Select(page.of("model")).select_by_value("1")
    assert "gru/best" in page.text("title") and "∂ŷ/∂c" not in page.text("reach-values")
    assert page.driver.execute_script("return selection.step") <= 11
    Select(page.of("model")).select_by_value("0")


def check_sums(page):
    assert "no recurrent layers" in page.text("no-layers") and "weighted sums of the window" in page.text("no-layers")
    for name in ("unit-panel", "reach-panel", "all-panel", "of-layer"):
        assert not page.of(name).is_displayed(), name
    page.press(Keys.ARROW_RIGHT)
    assert page.text("selected").startswith("2 of 4: ")
    assert "rests most on load of" in page.text("influence-values")
    page.click("play-step")
    assert page.driver.execute_script("return model().tape.operations.every(o => equations[o.name])"), "an operation without its equation"


# --- every number and mark of the panels ------------------------------------------------------------------------
COLLECT = """
const all = (selector, of) => [...document.querySelectorAll(selector)].map(of), text = e => e.textContent, points = e => (e.getAttribute('d').match(/[-.\\d]+/g) ?? []).map(Number);
const attribute = (...names) => e => names.map(name => Number(e.getAttribute(name)));
const pixels = id => {
  const drawn = at(id), copy = Object.assign(document.createElement('canvas'), {width: drawn.width, height: drawn.height});
  const of = copy.getContext('2d', {willReadFrequently: true});
  of.drawImage(drawn, 0, 0);
  return [copy.width, btoa(of.getImageData(0, 0, copy.width, copy.height).data.reduce((all, v) => all + String.fromCharCode(v), ''))];
};
const chart = id => ({curves: all(`#${id} path.curve`, e => [e.getAttribute('class').trim().replace('curve ', ''), points(e)]), titles: all(`#${id} rect title`, text), bands: all(`#${id} path.band`, points),
                      axis: all(`#${id} text[text-anchor="end"]:not(.step-word)`, e => [text(e), Number(e.getAttribute('y')) - 4]), name: at(id).firstChild?.getAttribute('aria-label')});
const given = name => document.getElementById(name) ? text(at(name)) : '';
return {words: all('#words button', e => [text(e.firstChild), text(e.lastChild), e.style.getPropertyValue('--share'), e.getAttribute('aria-label')]),
  bars: all('#expected > div', e => [text(e.querySelector('h3')), [...e.querySelectorAll('.bars bdi')].map((w, i) => [text(w),
             e.querySelectorAll('.bar-of')[i].style.getPropertyValue('--part'), text(e.querySelectorAll('.share')[i]), w.className])]),
  unitWords: all('#unit-words span', e => e.style.getPropertyValue('--back')), restsWords: all('#rests-words span', e => e.style.getPropertyValue('--back')),
  unit: chart('unit-chart'), reach: chart('reach'), reachLegend: all('#reach-legend li', e => [text(e), e.className]),
  gates: [0, 1, 2].map(k => all(`#unit-chart rect.b${k}`, attribute('y', 'height'))), gateNames: all('#unit-chart text.name', text),
  offered: all('#offered button', e => [text(e), e.title]), saturated: all('.saturation span', text), gateOptions: all('#gate option', text),
  texts: Object.fromEntries(['title', 'summary', 'made', 'selected', 'surprise-sums', 'unit-text', 'reach-text', 'reach-values', 'rests-values', 'all-scale', 'tape-text',
                             'forecast-values', 'agreement-unit', 'against-text', 'forecast-text'].map(name => [name, given(name)])),
  rests: ofSeries ? null : pixels('rests'), all: model().layers.length ? pixels('all') : null, influence: ofSeries ? [pixels('influence'), pixels('channel-map')] : null,
  forecast: ofSeries ? chart('forecast') : null, againstLegend: all('#against-legend li', text),
  colours: ['--card', '--valid', '--train', '--ink', '--grid'].map(name => [...colour(name)].slice(0, 3)),
  agreement: {ticks: all('#agreement text[text-anchor="middle"]', e => [text(e), Number(e.getAttribute('x'))]), lines: all('#agreement line:not(.grid)', attribute('x1', 'x2')),
              circles: all('#agreement circle', attribute('cx')), texts: all('#agreement text:not([text-anchor="middle"])', text)},
  table: all('#against-table tr', e => [...e.children].map(text)), bars2: all('#against-chart rect:not(.hit):not(.at-step)', e => [text(e), Number(e.getAttribute('height')),
              160 - Number(e.getAttribute('y'))]), against: ofSeries ? chart('against-chart') : null,
  againstReach: all('#against-reach > div', e => [text(e.querySelector('h3')), [...e.querySelectorAll('path.curve')].map(points)])};"""


def collected(page):
    found = page.driver.execute_script(COLLECT)
    for name in ("rests", "all"):
        if found[name]:
            found[name][1] = base64.b64decode(found[name][1])
    for canvas in found["influence"] or []:
        canvas[1] = base64.b64decode(canvas[1])
    return found


def near(shown, value, least=0.0):
    """A number as it stands on the page: off by a half of its last digit at most."""
    digits = shown.replace("−", "-").lstrip("+").split("e")
    last = 10.0 ** (-len(digits[0].partition(".")[2]) + (int(digits[1]) if len(digits) > 1 else 0))
    return abs(float("e".join(digits)) - value) <= max(0.501 * last, least) + 1e-6 * abs(value)


def check_percent(shown, share):
    """"12 %", "1.2 %" below a tenth, "< 0.1 %"."""
    if share < 0.00095:
        assert shown == "< 0.1 %", (shown, share)
    else:
        assert ("." in shown) == (share < 0.0995) and near(shown.removesuffix(" %"), 100 * share), (shown, share)


def line_through(axis, logarithm=False):
    """The height of a value in a chart, by the numbers along its axis."""
    ticks = [(math.log10(float(text)) if logarithm else float(text.replace(",", "")), y) for text, y in axis if re.fullmatch(r"-?[\d.,]+(e[-+]?\d+)?", text)]
    (v0, y0), (v1, y1) = min(ticks), max(ticks)
    assert v1 > v0 and y1 < y0, f"larger numbers stand higher: {axis}"
    return lambda v: y0 + (y1 - y0) * (v - v0) / (v1 - v0), (y0 - y1) / (v1 - v0)


def check_curve(points, values, height, off, bottom=math.inf):
    """A point for each value, evenly apart, at its height."""
    xs, ys = points[::2], points[1::2]
    assert len(ys) == len(values), (len(ys), len(values))
    for s, value in enumerate(values):
        assert abs(xs[s] - xs[0] - s * (xs[-1] - xs[0]) / max(1, len(xs) - 1)) < 0.2, xs
        assert abs(ys[s] - min(height(value), bottom)) < off, (s, value, ys[s], height(value))


def check_back(style, share):
    """Orange above zero, blue below, the stronger the larger; of the largest 62 %."""
    if round(62 * abs(share), 1) == 0:
        return
    colour, percent = re.search(r"var\((--\w+)\) ([\d.]+)%", style).groups()
    assert colour == ("--valid" if share > 0 else "--train") and near(percent, 62 * min(1, abs(share)), 0.06), (style, share)


def check_colour(pixels, columns, row, column, expected):
    found = pixels[4 * (row * columns + column):][:3]
    assert all(abs(a - b) <= 2 for a, b in zip(found, expected)), (row, column, found, expected)


def mixed(start, end, share):
    return [a + (b - a) * share for a, b in zip(start, end)]


def visible(word, model):
    if word == "<eos>" and model["level"] == "char":
        return "↵"
    return word.replace("\u202e", "⟨U+202E⟩").replace("\x01", "␁").replace(" ", "␣")


def values_at(model, k, name, unit):
    return [number_of(model, k, name, step, unit) for step in range(len(model["input"]))]


def check_words_panel(model, t, found):
    most = max(*model["bits"], 1)
    for (word, bits, share, _), written, value in zip(found["words"], model["written"], model["bits"], strict=True):
        assert word == visible(written, model), (word, written)
        assert near(bits, value) and near(share.removesuffix("%"), 58 * value / most), (word, bits, share, value)
    p = 2 ** -model["bits"][t]
    expected = [(f"its choice {model['rank'][t]}", "was", model["next"][t], p)]
    source = model.get("source")
    if source and source[t]["next"]:
        bits = source[t]["bits"]
        expected.append(("What the source itself would write here", "", source[t]["next"], 0 if bits is None else 2 ** -bits))
    for (title, rows), (part, more, likeliest, share) in zip(found["bars"], [(e[0].removeprefix("its "), *e[1:]) for e in expected], strict=True):
        assert part in title and more in title, title
        likeliest = likeliest if model["target"][t] in [word for word, _ in likeliest] else [*likeliest, [model["target"][t], share]]
        widest = max(share for _, share in likeliest)
        for (word, width, told, style), (text, value) in zip(rows, likeliest, strict=True):
            assert word == visible(text, model) and ("right" in style) == (text == model["target"][t]), (word, text, style)
            assert near(width.removesuffix("%"), 100 * value / widest, 0.02), (word, width)
            assert told == "never" if value == 0 else check_percent(told, value) is None
    noun = "character" if model["level"] == "char" else "word"
    sums = found["texts"]["surprise-sums"].replace(noun, "symbol")
    numbers = re.findall(r"([\d.]+) bits a symbol: perplexity ([\d.]+)\.| needs ([\d.]+): perplexity ([\d.]+)\.", sums)
    means = [sum(model["bits"]) / len(model["bits"])]
    if source and all(s["bits"] is not None for s in source):
        means.append(sum(s["bits"] for s in source) / len(source))
    assert len(numbers) == len(means) and ("Not all of this text is the grammar's." in sums) == (len(means) == 1 and bool(source)), sums
    for of, mean in zip(numbers, means):
        bits, perplexity = filter(None, of)
        assert near(bits, mean) and near(perplexity, 2 ** mean, 1e-3), sums
    unknown = sum(a != b for a, b in zip(model["written"], model["target"]))
    assert (f" {unknown} of {len(model['target'])} symbols {'is' if unknown == 1 else 'are'} not in the vocabulary" in sums) == (unknown > 0), sums


GATES = {"lstm": {"i": "input gate i", "f": "forget gate f", "o": "output gate o"}, "gru": {"r": "reset gate r", "z": "update gate z"}, "rnn": {}}


def check_unit_panel(model, step, k, unit, found):
    layer, gates = model["layers"][k], GATES[model["cell"]]
    state = "c" if any(v["name"] == "c" for v in layer["values"]) else "h"
    values, text = values_at(model, k, state, unit), found["texts"]["unit-text"]
    assert text.startswith("The cell state c" if state == "c" else "The state h") and all(name in text for name in gates.values()), text
    height, scale = line_through([tick for tick in found["unit"]["axis"] if tick[1] < 165])  # below stand the gates'
    lines = [points for style, points in found["unit"]["curves"] if "untrained" not in style]
    check_curve(lines[0], values, height, 0.2 + 0.06 * scale * max(map(abs, values)))  # two digits stand along the axis
    for s, title in enumerate(found["unit"]["titles"]):
        assert f": {state} = " in title and same(title.rpartition(" = ")[2], values[s]), (title, values[s])
    for word, value in zip(found["unitWords"], values):
        check_back(word, value / max(map(abs, values)))
    assert found["gateNames"] == list(gates), found["gateNames"]
    for bars, gate in zip(found["gates"], gates):
        for (y, high), value in zip(bars, values_at(model, k, gate, unit), strict=True):
            assert abs(high - 46 * value) < 0.1 and abs(y + high - 236) < 0.1, (gate, y, high, value)
    for (told, how), best in zip(found["offered"], model["offered"], strict=True):
        assert told == f"{best['what']}: layer {best['layer'] + 1} unit {best['unit'] + 1} {best['told']}" and how == best["how"], told
    names = {"i": "input gate", "f": "forget gate", "g": "candidate g", "o": "output gate", "r": "reset gate", "z": "update gate", "n": "candidate n",
             "c": "cell state c", "h": "output h"}
    assert found["gateOptions"] == [names[v["name"]] for v in layer["values"]], found["gateOptions"]
    for told, gate in zip(found["saturated"], [v for v in layer["values"] if v["name"] in gates], strict=True):
        numbers = [number_of(model, k, gate["name"], s, j) for s in range(len(model["input"])) for j in range(gate["units"])]
        name, open_, shut = re.fullmatch(r"(\w): (.*) open \(above 0\.9\), (.*) shut \(below 0\.1\)", told).groups()
        assert name == gate["name"], told
        check_percent(open_, sum(v > 0.9 for v in numbers) / len(numbers))
        check_percent(shut, sum(v < 0.1 for v in numbers) / len(numbers))


def check_all_units(model, step, k, unit, gate, found):
    layer = model["layers"][k]
    values = next(v for v in layer["values"] if v["name"] == gate)
    (columns, pixels), (card, high, low, ink, _) = found["all"], found["colours"]
    order = [u for u in layer["order"] if u < values["units"]]
    wide = columns // len(order)
    size = 1 if gate in GATES[model["cell"]] else values["largest"]
    for s in range(len(model["input"])):
        for place, u in enumerate(order):
            share = number_of(model, k, gate, s, u) / size
            expected = mixed(card, high if share >= 0 else low, min(1, abs(share)))
            check_colour(pixels, columns, s, place * wide + wide // 2, mixed(expected, ink, 0.18) if s == step else expected)
    scale = found["texts"]["all-scale"]
    if size == 1 and gate in GATES[model["cell"]]:
        assert scale == "white is 0, orange is 1", scale
    else:
        assert all(near(number, size) for number in re.fullmatch(r"orange up to \+([\d.e-]+), blue down to −([\d.e-]+)", scale).groups()), scale


def check_reach_panel(model, t, k, found):
    kinds = ["c", "h"] if "c" in model["reach"] else ["h"]
    steps = model["reached"][t] if "reached" in model else t + 1
    # The lower lines are those before training.
    expected = [(f"of-{kind} untrained", model["untrained"][kind][k]) for kind in kinds if model.get("untrained")]
    expected += [(f"of-{kind}", model["reach"][kind][k]) for kind in kinds]
    height, scale = line_through(found["reach"]["axis"], logarithm=True) if steps > 1 and len(found["reach"]["axis"]) > 1 else (None, 0)
    curves = [[norm_at(norms, t, s) for s in range(steps)] for _, norms in expected]
    assert [style for style, _ in found["reach"]["curves"]] == [style for style, _ in expected]
    for (_, points), values in zip(found["reach"]["curves"], curves):
        if height:
            check_curve(points, [math.log10(max(v, 1e-30)) for v in values], height, 0.3, bottom=214)
    for s, title in enumerate(found["reach"]["titles"]):
        for told, values in zip(re.findall(r" (\S+)(?:,|$)", title.rpartition(": ")[2] if "|" not in title else title[title.index("|" if "untrained" not in title else "untrained"):]), curves):
            assert told == "0" and values[s] == 0 or same(told, values[s]), (title, values[s])
    assert found["reachLegend"] == [[f"|∂{'ŷ' if 'series' in model else 'L'}/∂{kind}|", f"of-{kind}"] for kind in kinds] + \
        [[f"{kind}, before training", "grey-dashed" if kind == "h" else "grey"] for kind in kinds if model.get("untrained")], found["reachLegend"]
    text, back = found["texts"]["reach-values"], min(7, steps - 1)
    if back:
        assert f", {back} step{'s' * (back > 1)} back to “" in text, text
        for kind in kinds:
            last, first = re.search(rf"/∂{kind}\| (\S+) → ([^;]+?)(?:;|\.$)", text).groups()
            values = curves[[style for style, _ in expected].index(f"of-{kind}")]
            assert same(last, values[-1]) and same(first, values[-1 - back]), text


def check_rests_panel(model, t, found):
    norms = model["reach"]["embedding"]
    of = lambda row, s: norm_at(norms, row, s)
    most = [max(of(row, s) for s in range(row + 1)) for row in range(len(model["target"]))]
    for s, style in enumerate(found["restsWords"][: t + 1]):
        check_back(style, of(t, s) / most[t])
    strongest = sorted(range(t + 1), key=lambda s: -of(t, s))[:4]
    told = re.findall(r" \(([\d.e-]+)\)", found["texts"]["rests-values"])
    assert len(told) == len(strongest) and all(same(a, of(t, s)) for a, s in zip(told, strongest)), found["texts"]["rests-values"]
    (columns, pixels), (card, dark, *_) = found["rests"], found["colours"]
    for row in range(len(model["target"])):
        for s in range(row + 1):
            check_colour(pixels, columns, row, s, mixed(card, dark, of(row, s) / most[row] * (1 if row == t else 0.8) + 0.02 * (row != t)))


def check_tape_panel(page, model, t):
    tape, norms = model["tape"], model["tape"]["norms"][t]
    told = page.driver.execute_script("""
        return tapeOf.order.map(k => { chooseOperation(k); return [k, [...document.querySelectorAll('#tape-values dt')].map(e => [e.textContent, e.nextSibling.textContent]),
                                        [...tapeOf.nodes[k].querySelectorAll('text')].map(e => e.textContent), tapeOf.nodes[k].style.getPropertyValue('--share')]; });""")
    largest = max(g for g in norms["gradients"] if g is not None)
    for place, (k, rows, texts, share) in enumerate(told):
        operation, named = tape["operations"][k], dict(rows)
        weights = [i["parameter"] for i in operation["inputs"] if "parameter" in i]
        assert named["operation"] == f"{len(told) - place} of {len(told)}: {operation['name']} {' '.join(operation['shapes'])}", named
        assert named["recorded at"] == f"{operation['file']}:{operation['line']}", named
        for name, value in (("|value|", norms["values"][k]), ("|gradient|", norms["gradients"][k])):
            assert named[name] == "–" if value is None else same(named[name], value), (named, value)
        assert texts[:2] == [operation["name"], " ".join(operation["shapes"])] and len(texts) == 2 + min(3, len(weights)), texts
        assert abs(float(share.removesuffix("%")) - 12 - 55 * math.sqrt((norms["gradients"][k] or 0) / largest)) <= 0.51, share
        for p, (_, text) in zip(weights, [row for row in rows if row[0] == "parameter"], strict=True):
            of = tape["parameters"][p]
            value, gradient = re.fullmatch(re.escape(f"{of['name']} {of['shape']}: |value| ") + r"(\S+), \|gradient\| (\S+)", text).groups()
            assert same(value, of["norm"]) and same(gradient, norms["parameters"][p]), text
    # An operation is drawn where the loss depends on it; a line joins it to each that reads it.
    drawn, edges = {len(tape["operations"]) - 1}, 0
    for k in range(len(tape["operations"]) - 1, -1, -1):
        if k in drawn:
            inputs = [i["operation"] for i in tape["operations"][k]["inputs"] if "operation" in i]
            drawn.update(inputs)
            edges += len(inputs)
    assert {k for k, *_ in told} == drawn and len(page.driver.find_elements(By.CSS_SELECTOR, "#tape path.edge")) == edges


def check_agreement_panel(model, found):
    (one, left), (other, right) = found["agreement"]["ticks"][-1], found["agreement"]["ticks"][0]
    one, other = (float(tick.removesuffix(" %")) / 100 for tick in (one, other))
    x = lambda share: left + (right - left) * (share - one) / (other - one)
    rows = model["agreement"]["by_attractors"]
    for row, (low, high), (share,) in zip(rows, found["agreement"]["lines"], found["agreement"]["circles"], strict=True):
        assert all(abs(a - x(row[name])) < 0.1 for a, name in ((low, "low"), (high, "high"), (share, "share"))), (row, low, high, share)
    assert found["agreement"]["texts"] == [text for row in rows for text in (
        f"{row['attractors']} between", f"{100 * row['share']:.1f} % of {row['cases']}; mean p {row['p_right']:.4f}")], found["agreement"]["texts"]


def check_heading(page, model, found):
    letters = "letter by letter" if model.get("level") == "char" else "word by word"
    level = f"{'detecting' if model['series']['detects'] else 'forecasting'} {model['series']['target']}" if "series" in model else letters
    assert found["texts"]["title"] == f"{model['title']}, {level}" and found["texts"]["summary"] == model["summary"], found["texts"]
    assert found["texts"]["made"] == page.models[0]["made"] and page.driver.title == f"{model['title']}: a look inside", page.driver.title


def check_panels(page):
    """Of each model, at words and layers of every kind."""
    for number, model in enumerate(page.models):
        last = len(model["target"]) - 1
        for t, k, unit in ((0, 0, 6), (min(11, last), len(model["layers"]) - 1, 2), (last, 0, 0)):
            for gate in [v["name"] for v in model["layers"][k]["values"]] if t == last else ["h"]:
                page.driver.execute_script("select({model: arguments[0], word: arguments[1], layer: arguments[2], unit: arguments[3], gate: arguments[4]})",
                                           number, t, k, unit, gate)
                found = collected(page)
                check_all_units(model, t, k, unit, gate, found)
            check_heading(page, model, found)
            check_words_panel(model, t, found)
            check_unit_panel(model, t, k, unit, found)
            check_reach_panel(model, t, k, found)
            check_rests_panel(model, t, found)
            check_tape_panel(page, model, t)
        if "agreement" in model:
            check_agreement_panel(model, found)
        # A word that neither the model nor the source has among its likeliest.
        for t in [t for t, s in enumerate(model.get("source", [])) if s["next"] and model["target"][t] not in dict(s["next"])][:2]:
            page.driver.execute_script("select({model: arguments[0], word: arguments[1]})", number, t)
            check_words_panel(model, t, collected(page))
    page.driver.execute_script("select({model: 0})")


def check_forecast_panel(model, t, found):
    series = model["series"]
    height, scale = line_through(found["forecast"]["axis"])
    expected = [("untrained", series["history"]), ("truth", series["truth"]), ("of-c", series["forecast"])]
    assert [style for style, _ in found["forecast"]["curves"]] == [style for style, _ in expected]
    for (_, points), (_, values) in zip(found["forecast"]["curves"], expected):
        check_curve(points, [v for v in values if v is not None], height, 0.2)
    rows, name = len(series["rows"]) - series["detects"], "probability" if series["detects"] else "forecast"
    assert len(found["forecast"]["bands"]) == ("low" in series)
    for points in found["forecast"]["bands"]:
        around = [*series["high"], *reversed(series["low"])]
        assert all(abs(y - height(v)) < 0.2 for y, v in zip(points[1::2], around, strict=True)), (points, around)
    for k, title in enumerate(found["forecast"]["titles"]):
        if k < rows:
            assert title.startswith(series["rows"][k] + ": ") and math.isclose(float(title.rpartition(" ")[2]), series["history"][k], rel_tol=1e-5), title
        else:
            time, forecast, truth = re.fullmatch(rf"(.*): {name} (\S+), truth (\S+)", title).groups()
            assert time == series["times"][k - rows] and math.isclose(float(forecast), series["forecast"][k - rows], rel_tol=1e-5), title
            assert truth == "–" if series["truth"][k - rows] is None else math.isclose(float(truth), series["truth"][k - rows], rel_tol=1e-5), title
    off = [abs(a - b) for a, b in zip(series["forecast"], series["truth"]) if b is not None]
    if series["detects"]:
        assert f"The probability that {series['target']} is 1 in the last row" in found["texts"]["forecast-text"]
        return
    told = re.search(r"Over these (\d+) rows the forecast is off by (\S+) on average", found["texts"]["forecast-values"])
    assert int(told[1]) == len(off) and math.isclose(float(told[2]), sum(off) / len(off), rel_tol=1e-5), found["texts"]["forecast-values"]
    assert f"reads of {series['target']}, what it forecasts" in found["texts"]["forecast-text"]


def check_influence_panel(model, t, step, found):
    series, (card, high, low, ink, _) = model["series"], found["colours"]
    rows, channels = len(series["rows"]), len(series["channels"])
    raw, gradients = base64.b64decode(series["gradients"]["data"]), series["gradients"]
    of = lambda target, row, c: struct.unpack_from("<h", raw, 2 * (target * gradients["units"] + row * channels + c))[0] * gradients["largest"] / 32767
    (columns, pixels), (_, of_channels) = found["influence"]
    for target in range(len(model["target"])):
        norms = [math.hypot(*(of(target, row, c) for c in range(channels))) for row in range(rows)]
        for row, norm in enumerate(norms if len(model["target"]) > 1 else []):
            share = norm / max(norms)
            check_colour(pixels, columns, target, row, mixed(mixed(card, ink, 0.12), high, share) if target == t else mixed(card, high, 0.85 * share))
    largest = max(abs(of(t, row, c)) for row in range(rows) for c in range(channels))
    for c in range(channels):
        for row in range(rows):
            share = of(t, row, c) / largest
            read_now = model["layers"] and row // series["segment"] == step
            check_colour(of_channels, rows, c, row, mixed(mixed(card, ink, 0.15) if read_now else card, high if share >= 0 else low, abs(share)))


def check_series_panels(page):
    """Of each model that reads a window, and of both together."""
    for number, model in enumerate(page.models):
        last = len(model["target"]) - 1
        for t, step, k, unit in ((0, 3, 0, 4), (last, len(model["input"]) - 1, len(model["layers"]) - 1, 1)):
            page.driver.execute_script("select({model: arguments[0], word: arguments[1], step: arguments[2], layer: arguments[3], unit: arguments[4], gate: 'h'})",
                                       number, t, step, k, unit)
            found = collected(page)
            check_heading(page, model, found)
            check_forecast_panel(model, t, found)
            check_influence_panel(model, t, step, found)
            check_tape_panel(page, model, t)
            if model["layers"]:
                check_all_units(model, step, k, unit, "h", found)
                check_unit_panel(model, step, k, unit, found)
                check_reach_panel(model, t, k, found)
    page.driver.execute_script("select({model: 0, word: 1})")
    if len(page.models) > 1:
        found = collected(page)
        off = [[abs(a - b) for a, b in zip(m["series"]["forecast"], m["series"]["truth"])] for m in page.models]
        mean = lambda values: sum(values) / len(values)
        check_table(found["table"], page.models, [
            (f"forecast of {page.models[0]['target'][1]}", [m["series"]["forecast"][m["series"]["shown"][1]] for m in page.models]),
            ("mean absolute error, these rows", [mean(of) for of in off]), ("root mean square error", [math.sqrt(mean([v * v for v in of])) for of in off]),
            ("rows that it alone does better", [sum(a < b for a, b in zip(of, other)) for of, other in zip(off, off[::-1])])])
        height, _ = line_through(found["against"]["axis"])
        forecasts = [points for style, points in found["against"]["curves"] if style in ("of-c", "of-h")]
        for points, m in zip(forecasts, page.models, strict=True):
            check_curve(points, m["series"]["forecast"], height, 0.2)


def check_table(table, models, rows):
    """Of each row its name and a number for each model: text, or a number to the digits that are shown."""
    assert table[0] == ["", *(m["title"] for m in models)], table[0]
    for (name, *shown), (expected, of) in zip(table[1:], rows, strict=True):
        assert name == expected, (name, expected)
        for text, value in zip(shown, of, strict=True):
            assert text == value if isinstance(value, str) else near(text, value, 5e-6 * abs(value)), (name, text, value)


def check_pair_panel(page):
    """What two models make of one text: a table, the bits of each word, gradients."""
    models = page.models
    page.driver.execute_script("select({model: 0, word: 9, layer: 1})")
    found = collected(page)
    means = [sum(m["bits"]) / len(m["bits"]) for m in models]
    better = [sum(a < b for a, b in zip(m["bits"], other["bits"])) for m, other in zip(models, models[::-1])]
    shares = lambda count: [next(f"{100 * r['share']:.1f} %" for r in m["agreement"]["by_attractors"] if r["attractors"] == count) for m in models]
    check_table(found["table"], models, [("bits a word, this text", means), ("perplexity, this text", [2**mean for mean in means]),
                                         ("words that it alone predicts better", better), *((f"agreement, {n} between", shares(n)) for n in range(4))])
    assert found["againstLegend"] == [m["title"] for m in models]
    assert all(f"{m['title']}: {m['summary']}." in found["texts"]["against-text"] for m in models)
    most = max(max(m["bits"]) for m in models)
    for (title, height, above), (m, bits) in zip(found["bars2"], [(m, bits) for m in models for bits in m["bits"]], strict=True):
        assert title == f"{m['title']}: {title.split()[-2]} bits" and near(title.split()[-2], bits), (title, bits)
        assert abs(above - 148 * bits / most) < 0.1 and abs(height - max(0.5, above)) < 0.1, (title, height, above)
    for (title, curves), kind in zip(found["againstReach"], ("c", "h"), strict=True):
        assert title == f"|∂L/∂{kind}|, layer 2, of “{models[0]['written'][9]}”", title
        having = [m for m in models if kind in m["reach"]]
        assert [len(points) for points in curves] == [20] * len(having)
        norms = [norm_at(m["reach"][kind][1], 9, s) for m in having for s in range(10)]
        heights = [y for points in curves for y in points[1::2]]
        order = sorted(range(len(norms)), key=lambda n: -norms[n])
        assert all(heights[a] <= heights[b] + 0.1 for a, b in zip(order, order[1:])), "what is larger stands higher"


def show_whole(page, path, width):
    page.driver.get(path.resolve().as_uri())
    page.width(width)
    page.width(width, page.driver.execute_script("return document.documentElement.scrollHeight"))


def take_screenshots(driver, path, folder):
    page = Page(driver, path.resolve())
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        for width in (360, 800, 1600):
            show_whole(page, path, width)
            (folder / f"{path.stem}-{scheme}-{width}.png").write_bytes(driver.get_screenshot_as_png())


def take_panels(driver, path, folder):
    page = Page(driver, path.resolve())
    page.scheme("light")
    show_whole(page, path, 1000)
    text = {"surprise": "#surprise figure", "unit": "#unit-panel figure", "gradients": ".pair", "tape": "#tape-panel figure"}
    for name, selector in (text if page.models[0]["kind"] == "text" else {"forecast": "#forecast-panel figure", "influence": "#influence-panel figure"}).items():
        (folder / f"look-{name}.png").write_bytes(driver.find_element(By.CSS_SELECTOR, selector).screenshot_as_png)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptb")
    parser.add_argument("timeseries", nargs="?")
    parser.add_argument("--page", type=pathlib.Path, help="draw this page instead, and test nothing")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR", help="of the page in light and dark at three widths")
    parser.add_argument("--panels", type=pathlib.Path, metavar="DIR", help="of some panels, for docs/pictures")
    options = parser.parse_args()
    if not CHROMIUM or not DRIVER:
        print("skipped: no Chromium with its driver: apt-get install chromium chromium-driver")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        driver = start()
        try:
            if options.page:
                for folder, take in ((options.screenshots, take_screenshots), (options.panels, take_panels)):
                    if folder:
                        folder.mkdir(parents=True, exist_ok=True)
                        take(driver, options.page, folder)
                return
            make_pages(str(pathlib.Path(options.ptb).resolve()), folder)
            make_series_pages(str(pathlib.Path(options.timeseries).resolve()), folder)
            done = 0
            for file, checks in {"one.html": [check_words, check_unit, check_gradients, check_tape, check_look, check_agreement, check_panels],
                                 "two.html": [check_pair, check_pair_panel, check_panels], "hostile.html": [check_hostile, check_panels],
                                 "series.html": [check_series, check_series_panels, check_look], "sums.html": [check_sums, check_series_panels],
                                 "letters.html": [check_panels], "deciles.html": [check_series_panels], "detector.html": [check_series_panels]}.items():
                page = Page(driver, folder / file)
                for check in checks:
                    check(page)
                    page.check_quiet()
                    done += 1
            print(f"{done} checks in {driver.capabilities['browserName']} {driver.capabilities['browserVersion']}")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
