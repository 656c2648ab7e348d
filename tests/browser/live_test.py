#!/usr/bin/env python3
"""Has headless Chromium open pages of `ptb look --live` and `timeseries look --live`, and use the model in them: by key and by mouse, in light and
dark. The page's numbers are compared with the program's, which computes with the same rounded weights.

Usage: live_test.py PTB TIMESERIES [--screenshots DIR]       ends with 77, which Meson calls skipped, where there is no Chromium or Selenium
       live_test.py PTB --page FILE [--panels DIR]           times a page of a text, or draws it; tests nothing
"""
import argparse
import base64
import itertools
import json
import pathlib
import re
import shutil
import struct
import sys
import tempfile

import look_test
from look_test import HOSTILE, RECIPE, SERIES, TEXT, Keys, Page, Select, check_look, number_of, runner, same, series

OTHER = "some cats near the dog sleep .\nthe men chase the trucks ."
# Ends of lines as a text may write them, of characters that HOSTILE has; and blanks that only words may have around them.
ENDS = "quoted <eos>\nimg <eos>  <eos> \n\n  a<eos> <eos\r\nturned \r <eos> <unk>\n<eos>"
ENDS_OF = {"word": ENDS + "\vquoted\f\tturned\n", "char": ENDS}
# The cells and their options that act when a model reads. 8: with weights of 8 bits.
TEXTS = {
    "lstm": [], "gru 8": ["model.cell=gru"], "rnn": ["model.cell=rnn", "model.nonlinearity=relu"],
    "options": ["model.projection=9", "model.peepholes=true", "model.cell_clip=0.02", "model.zoneout_h=0.2", "model.zoneout_c=0.1",
                "model.mogrifier=3", "model.gate_activation=hard_sigmoid"],
    "coupled": ["model.coupled_gates=true", "model.residual=true", "model.cell_activation=softsign"],
    "tied": ["model.embedding=16", "model.tied=true", "model.cell_activation=hard_tanh"]}
NORMALIZED = "model.normalization=window"
WINDOWS = {
    "direct": [NORMALIZED, "training.loss=quantile"],
    "segments 8": ["model.architecture=segment-rnn", "model.segment=4", "model.cell=gru", "model.normalization=last"],
    "own": ["model.shared_channels=true", NORMALIZED],
    "detector": ["data.label=rises"],
    "linear": ["model.architecture=linear", "model.normalization=last", "training.loss=quantile"]}


def close(page, program, what, rounding=0.0):
    """Within 1e-4, and what the program rounded off before it wrote the number."""
    assert abs(page - program) <= 1e-4 + rounding, f"{what}: {page} in the page, {program} of the program"


def check_kernels():
    """The program refuses what the page's script cannot run: both have the same list."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    program = re.search(r"kernels_of_page\[\] = \{(.*?)\}", (root / "export/program/live_page.cpp").read_text(), re.S)[1]
    script = (root / "training/program/look/live.js").read_text()
    body = re.search(r"const kernels = \{(.*?)\n\};(.*?)\n\n", script, re.S)
    page = set(re.findall(r"^  (\w+): ", body[1], re.M)) | set(re.findall(r"kernels\.(\w+) = ", body[2])) | {"loop", "end"}
    assert page == set(re.findall(r'"(\w+)"', program)), page ^ set(re.findall(r'"(\w+)"', program))


def make_texts(ptb, folder):
    run = runner(ptb, folder)
    shutil.copy(RECIPE, folder)
    for name, options in TEXTS.items():
        out, *bits = name.split()
        run("train", "tiny.toml", "--out", out, *itertools.chain(*(("--set", option) for option in options)))
        for text, page in ((TEXT, ""), (OTHER, "-other")):
            run("look", f"{out}/last.safetensors", "--live", *bits, "--text", text, "--out", f"{out}{page}.html")
    (folder / "text").mkdir()
    for split in ("train", "valid", "test"):
        (folder / "text" / f"{split}.txt").write_text((" ".join(HOSTILE) + " <unk>\n") * 60, encoding="utf-8")
    for level in ("word", "char"):
        run("train", "tiny.toml", "--out", level, "--data", "text", "--set", "data.corpus=text", "--set", f"data.level={level}")
        run("look", f"{level}/last.safetensors", "--live", "--text", " ".join(HOSTILE[:5]), "--out", f"{level}.html")
        run("look", f"{level}/last.safetensors", "--text", ENDS_OF[level], "--out", f"{level}-ends.html")


def make_windows(timeseries, folder):
    run = runner(timeseries, folder)
    lines = series().splitlines()
    time, load, wind = lines[-7].split(",")
    changed = [*lines[:-7], f"{time},1.75,{wind}", *lines[-6:]]
    loads = [float(line.split(",")[1]) for line in lines[1:]]
    rises = ["rises", *(int(after > before) for before, after in zip([0, *loads], loads))]
    for name, rows in {"wave": lines, "changed": changed}.items():
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
        (folder / f"{name}-detector.csv").write_text("".join(f"{row},{label}\n" for row, label in zip(rows, rises, strict=True)))
    for name, options in WINDOWS.items():
        out, *bits = name.split()
        recipe, ending = f"{out}-recipe.toml", "-detector.csv" if out == "detector" else ".csv"
        unread = {"linear": "hidden = 8\nlayers = 2\n", "detector": "horizon = 4\nperiod = 8\n"}
        (folder / recipe).write_text(SERIES.replace(unread.get(out, "none"), ""))
        run("train", recipe, "--csv", "wave" + ending, "--out", out, *itertools.chain(*(("--set", option) for option in options)))
        for file, page in (("wave", ""), ("changed", "-other")):
            run("look", f"{out}/best.safetensors", "--live", *bits, "--csv", file + ending, "--out", f"{out}{page}.html")


def recorded(path):
    """The numbers that the program computed for a page."""
    found = re.findall(r'<script type="application/json" class="model">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    return next(model for model in map(json.loads, found) if model["kind"] != "live")


def computed(page):
    """The numbers that the page computed, with the gradients of all targets."""
    return page.driver.execute_script("""
        const m = model();
        m.target.forEach((_, t) => needRow(t));
        const plain = of => JSON.parse(JSON.stringify(of, (key, value) => ArrayBuffer.isView(value) ? [...value] : value));
        const {layers, reach, bits, rank, next, written, target, series} = m;
        return plain({layers, reach, bits, rank, next, written, target, series});""")


def floats(data):
    raw = base64.b64decode(data)
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def compare_layers(found, program):
    steps = len(program["input"])
    for k, layer in enumerate(program["layers"]):
        for values in layer["values"]:
            own = next(v for v in found["layers"][k]["values"] if v["name"] == values["name"])
            for step, unit in itertools.product(range(steps), range(values["units"])):
                close(own["numbers"][step * values["units"] + unit], number_of(program, k, values["name"], step, unit),
                      f"layer {k + 1}, {values['name']} of unit {unit + 1} in step {step + 1}", values["largest"] / 65534)
    for kind, norms in program["reach"].items():
        for k, one in enumerate(norms if isinstance(norms, list) else [norms]):
            own = found["reach"][kind][k] if isinstance(norms, list) else found["reach"][kind]
            for n, (a, b) in enumerate(zip(own["numbers"], floats(one["data"]), strict=True)):
                close(a, b, f"|∂/∂{kind}| of layer {k + 1}, number {n}", 1e-4 * abs(b))


def compare_text(page, program):
    found = computed(page)
    assert found["written"] == program["written"] and found["target"] == program["target"]
    compare_layers(found, program)
    for t, bits in enumerate(program["bits"]):
        close(found["bits"][t], bits, f"bits of word {t + 1}", 1e-4 * bits)
        for (_, p), (_, q) in zip(found["next"][t], program["next"][t], strict=True):
            close(p, q, f"a probability at word {t + 1}")


def compare_window(page, program):
    found = computed(page)
    compare_layers(found, program)
    for name in ("forecast", "low", "high", "history"):
        for k, value in enumerate(program["series"].get(name, [])):
            close(found["series"][name][k], value, f"{name} of row {k + 1}")
    gradients = program["series"]["gradients"]
    raw = base64.b64decode(gradients["data"])
    for n, (value, q) in enumerate(zip(found["series"]["gradients"]["numbers"], struct.unpack(f"<{len(raw) // 2}h", raw), strict=True)):
        close(value, q * gradients["largest"] / 32767, f"gradient {n}", gradients["largest"] / 65534)


def type_text(page, text):
    field = page.of("typed")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)


def set_range(page, name, value):
    """By key, as no mouse is needed: to the left end, then step by step."""
    slider = page.of(name)
    slider.send_keys(Keys.HOME)
    steps = round((value - float(slider.get_attribute("min"))) / float(slider.get_attribute("step")))
    slider.send_keys(*[Keys.ARROW_RIGHT] * steps)


def check_text(page, program, other):
    type_text(page, TEXT)
    compare_text(page, program)
    assert not page.of("tape-panel").is_displayed() and "perplexity" in page.text("live-told")
    type_text(page, OTHER)
    compare_text(page, other)


def check_writing(page):
    heat = page.of("heat")
    while heat.get_attribute("value") != "0":  # on a busy machine a digit may come before what it replaces is chosen
        heat.send_keys(Keys.CONTROL, "a")
        heat.send_keys("0")
    type_text(page, "the")
    page.of("write").send_keys(Keys.ENTER)
    written = page.driver.execute_script("return model().written")
    following = page.driver.execute_script("return model().next")
    assert written[0] == "the" and len(written) > 1, written
    for word, likely in zip(written[1:], following[1:]):  # at a temperature of 0.001 a word as likely but for 2 % may be drawn
        assert dict(likely).get(word, 0) > 0.98 * likely[0][1], (written, word, likely)
    assert page.of("typed").get_attribute("value").split() == [w for w in written if w != "<eos>"]


def check_refusals(page):
    """A word that the model does not know leaves the numbers as they are, and is named."""
    type_text(page, "the dog")
    for text, told in (("the <b>zebra</b>", "“<b>zebra</b>”"), ("the " * 402, "400 words")):
        page.driver.execute_script("arguments[0].value = arguments[1]; readText()", page.of("typed"), text)
        assert told in page.text("live-told"), page.text("live-told")
        assert page.driver.execute_script("return model().written") == ["the", "dog", "<eos>"]


def check_holding(page):
    """A unit whose gate or state is held shows that value; the loss of a text changes with it, and comes back."""
    type_text(page, TEXT)
    free = page.driver.execute_script("return model().bits")
    page.click("word-9")
    Select(page.of("layer")).select_by_value("0")
    page.of("unit").send_keys(Keys.CONTROL, "a")
    page.of("unit").send_keys("3")
    Select(page.of("hold-name")).select_by_value("f")
    set_range(page, "hold-at", 0.25)
    held = computed(page)
    forget = next(v for v in held["layers"][0]["values"] if v["name"] == "f")
    assert {round(v, 6) for v in forget["numbers"][2::forget["units"]]} == {0.25} and held["bits"] != free
    assert "f = 0.250" in page.text("unit-values"), page.text("unit-values")
    # Nothing of the layers below counts any more if all units of h of the last one are held.
    Select(page.of("layer")).select_by_value("1")
    Select(page.of("hold-name")).select_by_value("h")
    Select(page.of("hold-of")).select_by_value("all")
    set_range(page, "hold-at", 0)
    shut = computed(page)
    words = list(zip(shut["written"], shut["bits"]))
    assert all(abs(a - b) < 1e-9 for (v, a), (w, b) in itertools.product(words, words) if v == w)
    assert max(shut["reach"]["h"][0]["numbers"]) == max(shut["reach"]["embedding"]["numbers"]) == 0 < max(shut["reach"]["h"][1]["numbers"])
    for _ in range(2):
        page.driver.find_element("css selector", "#held button").send_keys(Keys.ENTER)
    assert page.driver.execute_script("return model().bits") == free
    assert not page.driver.find_elements("css selector", "#held button")


def check_hostile(page, text, words):
    type_text(page, text)
    shown = [b.get_attribute("textContent") for b in page.driver.find_elements("css selector", "#words bdi")]
    assert shown == words, shown
    assert page.driver.execute_script("return document.querySelectorAll('img, main script, main b').length") == 0


def check_ends(page, text, program):
    """The page reads a text as the program does, and writes it so that it is read again."""
    reread = page.driver.execute_script("return [wordsOf(arguments[0]), wordsOf(textOf(wordsOf(arguments[0])))]", text)
    assert reread == [program["written"]] * 2, (reread, program["written"])


def check_window(page, program, other):
    page.driver.execute_script("readWindow()")
    compare_window(page, program)
    changed = series().splitlines()[-7].split(",")[0]
    row = next(row for row, time in enumerate(program["series"]["rows"]) if time.startswith(changed))
    Select(page.of("cell-row")).select_by_value(str(row))
    field = page.of("cell")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("1.75")
    compare_window(page, other)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.DELETE)  # no number
    assert "no such number" in page.text("live-told")
    compare_window(page, other)
    assert page.driver.execute_script("return document.querySelectorAll('main b, main script').length") == 0


def check_dragging(page):
    before = page.driver.execute_script("return model().series")
    row, unit = 5, float(page.of("forecast").get_attribute("data-unit"))
    hit = page.driver.find_elements("css selector", "#forecast .hit")[row]
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", hit)
    look_test.ActionChains(page.driver).click_and_hold(hit).move_by_offset(0, -40).release().perform()
    after = page.driver.execute_script("return model().series")
    assert abs(after["history"][row] - before["history"][row] - 40 * unit) < 1e-6 and after["forecast"] != before["forecast"]
    assert page.of("cell-row").get_attribute("value") == str(row) and same(page.of("cell").get_attribute("value"), after["history"][row])
    look_test.ActionChains(page.driver).move_by_offset(0, -40).perform()
    assert page.driver.execute_script("return model().series.history") == after["history"], "a row follows a mouse that let it go"


def check_speed(page):
    """Says how long the page takes for a change; asserts nothing."""
    page.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    worked = lambda: next(one["value"] for one in page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"] if one["name"] == "TaskDuration")
    took, work = [], []
    for k in range(25):
        before = worked()
        took.append(page.driver.execute_script("""
            const begin = performance.now();
            at('hold-at').value = arguments[0];
            hold();
            clearTimeout(timer);
            return performance.now() - begin;""", k / 25))
        work.append(1000 * (worked() - before))
    print(f"    a change takes {sorted(work)[12]:.0f} ms of a processor, and took {sorted(took)[12]:.0f} ms, medians of 25")


def take_picture(driver, path, folder):
    """For docs/pictures: a page whose reader holds the forget gates of a layer, and the words' surprise at that."""
    page = Page(driver, path.resolve())
    page.scheme("light")
    page.driver.refresh()
    Select(page.of("hold-name")).select_by_value("f")
    Select(page.of("hold-of")).select_by_value("all")
    set_range(page, "hold-at", 0.5)
    computed(page)
    page.width(1000, 2000)
    clip = page.driver.execute_script("""
        document.activeElement.blur();
        const from = document.getElementById('live').getBoundingClientRect(), to = document.querySelector('#surprise figure').getBoundingClientRect();
        return {x: from.left - 8, y: from.top - 8 + scrollY, width: from.width + 16, height: to.bottom - from.top + 16, scale: 1};""")
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": False})
    (folder / "look-live.png").write_bytes(base64.b64decode(shot["data"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptb")
    parser.add_argument("timeseries", nargs="?")
    parser.add_argument("--page", type=pathlib.Path, help="draw this page of a text, or time it; test nothing")
    parser.add_argument("--panels", type=pathlib.Path, metavar="DIR", help="where, for docs/pictures")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR", help="of both kinds of page, after a change, in light and dark")
    options = parser.parse_args()
    check_kernels()
    if not look_test.CHROMIUM or not look_test.DRIVER:
        print("skipped: no Chromium with its driver: apt-get install chromium chromium-driver")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        driver = look_test.start()
        try:
            if options.page:
                return take_picture(driver, options.page, options.panels) if options.panels else check_speed(Page(driver, options.page.resolve()))
            make_texts(str(pathlib.Path(options.ptb).resolve()), folder)
            make_windows(str(pathlib.Path(options.timeseries).resolve()), folder)
            done = 0

            def check(file, *checks):
                nonlocal done
                page = Page(driver, folder / f"{file}.html")
                for one in checks:
                    one(page)
                    page.check_quiet()
                    done += 1

            for names, compare in ((TEXTS, check_text), (WINDOWS, check_window)):  # each cell and each network
                for out in (name.split()[0] for name in names):
                    program, other = (recorded(folder / f"{out}{page}.html") for page in ("", "-other"))
                    print(f"    {out}")
                    check(out, lambda page: compare(page, program, other))
            check("lstm", check_writing, check_refusals, check_holding, check_speed, check_look)
            check("direct", check_dragging, check_speed, check_look)
            words = [*HOSTILE[:5], "unheard-of", "<b>words</b>", "'"]
            check("word", lambda page: check_hostile(page, " ".join(words), [*words, "<eos>"]))
            for level in ENDS_OF:
                check(level, lambda page: check_ends(page, ENDS_OF[level], recorded(folder / f"{level}-ends.html")))
            check("char", lambda page: check_hostile(page, "</script> <img", [*"</script>␣<img", "↵"]))
            for file, change in (("lstm", check_holding), ("direct", check_dragging)):
                for scheme in ("light", "dark") if options.screenshots else ():
                    page = Page(driver, folder / f"{file}.html")
                    page.scheme(scheme)
                    page.driver.refresh()
                    change(page)
                    page.width(1000, page.driver.execute_script("return document.documentElement.scrollHeight"))
                    options.screenshots.mkdir(parents=True, exist_ok=True)
                    (options.screenshots / f"live-{file}-{scheme}.png").write_bytes(driver.get_screenshot_as_png())
            print(f"{done} checks in {driver.capabilities['browserName']} {driver.capabilities['browserVersion']}")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
