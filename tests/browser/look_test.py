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
    run("look", "hostile/last.safetensors", "--text", " ".join(HOSTILE) + " unheard-of", "--out", "hostile.html")


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
            for file, checks in {"one.html": [check_words, check_unit, check_gradients, check_tape, check_look, check_agreement],
                                 "two.html": [check_pair], "hostile.html": [check_hostile],
                                 "series.html": [check_series, check_look], "sums.html": [check_sums]}.items():
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
